//! What random queries are made of.

use fastrand::Rng;

/// Types that compare with each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Text,
    Time,
}

/// An expression over a FROM item.
#[derive(Clone)]
struct Column {
    text: String,
    kind: Kind,
    /// Its type, where that is certain: by the name of a table's column.
    of: &'static str,
}

struct Source {
    text: String,
    columns: Vec<Column>,
}

/// A query's text, and what its columns are.
struct Query {
    text: String,
    kinds: Vec<Kind>,
}

const COLUMNS: [(&str, Kind); 12] = [
    ("i", Kind::Number),
    ("k", Kind::Number),
    ("n", Kind::Number),
    ("r", Kind::Number),
    ("f", Kind::Number),
    ("t", Kind::Text),
    ("c", Kind::Text),
    ("v", Kind::Text),
    ("m", Kind::Text),
    ("d", Kind::Time),
    ("s", Kind::Time),
    ("z", Kind::Time),
];

const TABLES: [&str; 6] = ["t0", "t1", "t2", "t3", "t0", "w0"];

/// Conditions that name no column of the query that they are in.
const CONSTANTS: [&str; 14] = [
    "false",
    "true",
    "null",
    "1 = 0",
    "1 = 1",
    "(select false)",
    "(select true)",
    "exists (select 1 from t0 where i = 77)",
    "exists (select 1 from t0 where i = 1)",
    "not exists (select 1 from t1 where i = 77)",
    "current_date < '2000-01-01'",
    "random() < 0",
    "random() >= 0",
    "77 in (select i from t0)",
];

pub struct Grammar<'r> {
    random: &'r mut Rng,
    aliases: u32,
    /// The large table is in the query: once is enough.
    has_large: bool,
}

impl Grammar<'_> {
    pub fn new(random: &mut Rng) -> Grammar<'_> {
        Grammar { random, aliases: 0, has_large: false }
    }

    /// A statement on one line, whose answer hangs on nothing but the tables.
    pub fn statement(&mut self) -> String {
        match self.random.u32(..10) {
            0 => self.change(),
            _ => {
                let query = self.query(2);
                shown(&query)
            }
        }
    }

    /// A change that is undone.
    fn change(&mut self) -> String {
        let from = self.from(1, &[]);
        let own: Vec<Column> = columns_of("x");
        let both: Vec<Column> = own.iter().chain(&from.columns).cloned().collect();
        let condition = self.condition(&both, 2);
        let change = match self.random.u32(..4) {
            0 => format!("delete from t0 x using {} where {condition}", from.text),
            1 => format!("update t0 x set k = 7 from {} where {condition}", from.text),
            2 => {
                let (query, member) =
                    (self.condition(&from.columns, 2), self.number(&from.columns));
                format!(
                    "delete from t0 x where x.i in (select {member} from {} where {query})",
                    from.text
                )
            }
            _ => {
                let (query, member) =
                    (self.condition(&from.columns, 2), self.number(&from.columns));
                format!(
                    "insert into t0 (n) select ({member})::float8::numeric from {} where {query}",
                    from.text
                )
            }
        };
        format!("begin; {change}; select count(*), sum(k), sum(i), count(n) from t0; rollback;")
    }

    fn number(&mut self, columns: &[Column]) -> String {
        let numbers: Vec<&Column> = columns.iter().filter(|c| c.kind == Kind::Number).collect();
        match numbers.is_empty() {
            true => "1".to_owned(),
            false => numbers[self.random.usize(..numbers.len())].text.clone(),
        }
    }

    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("a{}", self.aliases)
    }

    fn query(&mut self, depth: u32) -> Query {
        match self.random.u32(..10) {
            0 | 1 if depth > 0 => self.set_operation(depth - 1),
            2 if depth > 0 => self.grouped(depth),
            3 if depth > 0 => self.common_table(depth - 1),
            _ => self.plain(depth, &[]),
        }
    }

    fn plain(&mut self, depth: u32, outer: &[Column]) -> Query {
        let from = self.from(depth, outer);
        let picked = self.pick(&from.columns, 3);
        let all: Vec<Column> = from.columns.iter().chain(outer).cloned().collect();
        let filter = self.filter(&all);
        let distinct = if self.random.u32(..5) == 0 { "distinct " } else { "" };
        let texts: Vec<String> = picked.iter().map(|c| self.output(c)).collect();
        let text = format!("select {distinct}{} from {}{filter}", texts.join(", "), from.text);
        Query { text, kinds: picked.iter().map(|c| c.kind).collect() }
    }

    fn output(&mut self, column: &Column) -> String {
        let text = &column.text;
        match (self.random.u32(..14), column.kind) {
            (0, Kind::Number) => format!("coalesce({text}, 7)"),
            (0, Kind::Text) => format!("coalesce({text}, 'none')"),
            (1, Kind::Text) => format!("({text} || 'x')"),
            (1, Kind::Number) => format!("count(*) over (partition by {text})"),
            (2, Kind::Number) => format!("case when {} then {text} end", self.constant()),
            (3, Kind::Number) => self.scalar(column),
            _ => text.clone(),
        }
    }

    /// A sub-select that hangs on the column.
    fn scalar(&mut self, column: &Column) -> String {
        let from = self.from(1, std::slice::from_ref(column));
        let all: Vec<Column> = from.columns.iter().chain([column]).cloned().collect();
        let condition = self.condition(&all, 1);
        format!("(select count(*) from {} where {condition})", from.text)
    }

    fn grouped(&mut self, depth: u32) -> Query {
        let from = self.from(depth, &[]);
        let filter = self.filter(&from.columns);
        if self.random.u32(..3) == 0 {
            let number = self.number(&from.columns);
            let having = if self.random.bool() {
                format!(" having {}", self.constant())
            } else {
                String::new()
            };
            let text = format!(
                "select count(*), count(distinct {number}) from {}{filter}{having}",
                from.text
            );
            return Query { text, kinds: vec![Kind::Number, Kind::Number] };
        }
        let keys = self.pick(&from.columns, 2);
        let texts: Vec<&str> = keys.iter().map(|c| c.text.as_str()).collect();
        let having = match self.random.u32(..3) {
            0 => format!(" having {}", self.constant()),
            1 => " having count(*) > 1".to_owned(),
            _ => String::new(),
        };
        let texts = texts.join(", ");
        let by = match self.random.u32(..5) {
            0 => format!("grouping sets (({texts}), ())"),
            1 => format!("rollup ({texts})"),
            _ => texts.clone(),
        };
        let text =
            format!("select {texts}, count(*) from {}{filter} group by {by}{having}", from.text);
        let kinds = keys.iter().map(|c| c.kind).chain([Kind::Number]).collect();
        Query { text, kinds }
    }

    /// Both sides have one column of each of the kinds that the left one has.
    fn set_operation(&mut self, depth: u32) -> Query {
        let left = self.plain(depth, &[]);
        let from = self.from(depth, &[]);
        let mut texts = Vec::new();
        for kind in &left.kinds {
            let fit: Vec<&Column> = from.columns.iter().filter(|c| c.kind == *kind).collect();
            texts.push(match fit.is_empty() {
                true => "null".to_owned(),
                false => fit[self.random.usize(..fit.len())].text.clone(),
            });
        }
        let filter = self.filter(&from.columns);
        let words = ["union", "union all", "intersect", "intersect all", "except", "except all"];
        let word = words[self.random.usize(..words.len())];
        let right = format!("select {} from {}{filter}", texts.join(", "), from.text);
        Query { text: format!("{} {word} {right}", left.text), kinds: left.kinds }
    }

    fn common_table(&mut self, depth: u32) -> Query {
        let inner = self.query(depth);
        let names: Vec<String> = (0..inner.kinds.len()).map(|i| format!("q{i}")).collect();
        let (first, second) = (self.alias(), self.alias());
        let columns = |alias: &str| -> Vec<Column> {
            let pairs = names.iter().zip(&inner.kinds);
            pairs
                .map(|(n, kind)| Column { text: format!("{alias}.{n}"), kind: *kind, of: "" })
                .collect()
        };
        let both: Vec<Column> = columns(&first).into_iter().chain(columns(&second)).collect();
        let how = ["", "materialized ", "not materialized "][self.random.usize(..3)];
        let (join, on) = self.join(&columns(&first), &columns(&second), &[]);
        let filter = self.filter(&both);
        let picked = self.pick(&both, 3);
        let texts: Vec<&str> = picked.iter().map(|c| c.text.as_str()).collect();
        let text = format!(
            "with w({}) as {how}({}) select {} from w {first} {join} w {second} on {on}{filter}",
            names.join(", "),
            inner.text,
            texts.join(", "),
        );
        Query { text, kinds: picked.iter().map(|c| c.kind).collect() }
    }

    fn filter(&mut self, columns: &[Column]) -> String {
        match self.random.u32(..3) {
            0 => String::new(),
            _ => format!(" where {}", self.condition(columns, 2)),
        }
    }

    fn pick(&mut self, columns: &[Column], most: usize) -> Vec<Column> {
        let count = self.random.usize(1..=most);
        (0..count).map(|_| columns[self.random.usize(..columns.len())].clone()).collect()
    }

    fn from(&mut self, depth: u32, outer: &[Column]) -> Source {
        match self.random.u32(..10) {
            0..=5 if depth > 0 => self.joined(depth - 1, outer),
            6 if depth > 0 => self.derived(depth - 1, &[]),
            7 if depth > 0 => {
                let (left, right) = (self.from(depth - 1, outer), self.from(depth - 1, outer));
                let text = format!("{}, {}", left.text, right.text);
                Source { text, columns: left.columns.into_iter().chain(right.columns).collect() }
            }
            _ => {
                let large = !self.has_large && self.random.u32(..8) == 0;
                self.has_large |= large;
                let small = TABLES[self.random.usize(..TABLES.len())];
                let (table, alias) = (if large { "b0" } else { small }, self.alias());
                Source { text: format!("{table} {alias}"), columns: columns_of(&alias) }
            }
        }
    }

    fn derived(&mut self, depth: u32, outer: &[Column]) -> Source {
        let query = if outer.is_empty() { self.query(depth) } else { self.plain(0, outer) };
        let alias = self.alias();
        let names: Vec<String> = (0..query.kinds.len()).map(|i| format!("q{i}")).collect();
        let columns = names.iter().zip(&query.kinds);
        let columns = columns
            .map(|(name, kind)| Column { text: format!("{alias}.{name}"), kind: *kind, of: "" })
            .collect();
        Source { text: format!("({}) {alias}({})", query.text, names.join(", ")), columns }
    }

    fn joined(&mut self, depth: u32, outer: &[Column]) -> Source {
        let left = self.side_of_join(depth, outer);
        if self.random.u32(..8) == 0 {
            let right = self.derived(0, &left.columns);
            let word = ["left join", "join"][self.random.usize(..2)];
            let text = format!("({} {word} lateral {} on true)", left.text, right.text);
            return Source {
                text,
                columns: left.columns.into_iter().chain(right.columns).collect(),
            };
        }
        let right = self.side_of_join(depth, outer);
        let (word, on) = self.join(&left.columns, &right.columns, outer);
        let text = format!("({} {word} {} on {on})", left.text, right.text);
        Source { text, columns: left.columns.into_iter().chain(right.columns).collect() }
    }

    /// As [`Grammar::from`], but one item, as a side of a join must be.
    fn side_of_join(&mut self, depth: u32, outer: &[Column]) -> Source {
        loop {
            let from = self.from(depth, outer);
            let nested = from.text.starts_with('(');
            if nested || !from.text.contains(',') {
                return from;
            }
        }
    }

    /// A kind of join and its condition. FULL goes by an equality or a constant only, and by what can be hashed where
    /// there is more.
    fn join(
        &mut self,
        left: &[Column],
        right: &[Column],
        outer: &[Column],
    ) -> (&'static str, String) {
        let words = ["left join", "left join", "right join", "full join", "join"];
        let word = words[self.random.usize(..words.len())];
        let equality = self.equality(left, right);
        let both: Vec<Column> = left.iter().chain(right).chain(outer).cloned().collect();
        if word == "full join" {
            let constants = ["false", "true", "1 = 0", "null"];
            return match (equality, self.random.u32(..6)) {
                (None, _) | (_, 0) => (word, constants[self.random.usize(..4)].to_owned()),
                (Some((equality, true)), 1 | 2) => {
                    (word, format!("{equality} and {}", self.condition(&both, 1)))
                }
                (Some((equality, _)), _) => (word, equality),
            };
        }
        let on = match (equality, self.random.u32(..6)) {
            (Some((equality, _)), 0..=2) => equality,
            (Some((equality, _)), 3) => format!("{equality} and {}", self.condition(&both, 1)),
            (_, 4) => self.constant(),
            _ => self.condition(&both, 1),
        };
        (word, on)
    }

    /// An equality of two columns of one kind, and whether both are of one type for certain.
    fn equality(&mut self, left: &[Column], right: &[Column]) -> Option<(String, bool)> {
        let one = &left[self.random.usize(..left.len())];
        let fit: Vec<&Column> = right.iter().filter(|c| c.kind == one.kind).collect();
        if fit.is_empty() {
            return None;
        }
        let other = fit[self.random.usize(..fit.len())];
        let same = !one.of.is_empty() && one.of == other.of;
        Some((format!("{} = {}", one.text, other.text), same))
    }

    fn constant(&mut self) -> String {
        CONSTANTS[self.random.usize(..CONSTANTS.len())].to_owned()
    }

    fn condition(&mut self, columns: &[Column], depth: u32) -> String {
        let column = columns[self.random.usize(..columns.len())].clone();
        let text = &column.text;
        match self.random.u32(..14) {
            0 | 1 if depth > 0 => {
                let word = if self.random.bool() { "and" } else { "or" };
                format!(
                    "({} {word} {})",
                    self.condition(columns, depth - 1),
                    self.condition(columns, depth - 1)
                )
            }
            2 if depth > 0 => format!("not ({})", self.condition(columns, depth - 1)),
            3..=5 => self.constant(),
            6 => format!("{text} is null"),
            7 => format!("{text} is not null"),
            8 => format!(
                "{text} {} {}",
                ["<", ">=", "<>", "="][self.random.usize(..4)],
                literal(column.kind, self.random)
            ),
            9 => self.membership(&column),
            10 => self.among(&column),
            11 => self.existence(&column),
            _ => match self.equality(std::slice::from_ref(&column), columns) {
                Some((equality, _)) => equality,
                None => self.constant(),
            },
        }
    }

    fn column_for(&mut self, kind: Kind) -> &'static str {
        let fit: Vec<&str> =
            COLUMNS.iter().filter(|(_, k)| *k == kind).map(|(name, _)| *name).collect();
        fit[self.random.usize(..fit.len())]
    }

    fn membership(&mut self, column: &Column) -> String {
        let (table, inner) =
            (TABLES[self.random.usize(..TABLES.len())], self.column_for(column.kind));
        let not = if self.random.u32(..3) == 0 { "not " } else { "" };
        let filter = match self.random.u32(..4) {
            0 => format!(" where {}", self.constant()),
            1 => format!(" where y.{inner} is not null"),
            _ => String::new(),
        };
        format!("{} {not}in (select y.{inner} from {table} y{filter})", column.text)
    }

    /// A list of literals, in one of its ways to be written.
    fn among(&mut self, column: &Column) -> String {
        let (a, b) = (literal(column.kind, self.random), literal(column.kind, self.random));
        let text = &column.text;
        match self.random.u32(..4) {
            0 => format!("{text} in ({a}, {b}, null)"),
            1 => format!("{text} not in ({a}, {b})"),
            2 if column.kind == Kind::Text => format!("{text} = any (array[{a}, {b}])"),
            2 => format!("({text}, 1) in (({a}, 1), ({b}, 2))"),
            _ => format!("{text} in ({a}, {b})"),
        }
    }

    fn existence(&mut self, column: &Column) -> String {
        let (table, inner) =
            (TABLES[self.random.usize(..TABLES.len())], self.column_for(column.kind));
        let not = if self.random.bool() { "not " } else { "" };
        let more = match self.random.u32(..3) {
            0 => format!(" and {}", self.constant()),
            _ => String::new(),
        };
        let join = if self.random.u32(..3) == 0 { " left join t1 u on y.i = u.i" } else { "" };
        format!(
            "{not}exists (select 1 from {table} y{join} where y.{inner} = {}{more})",
            column.text
        )
    }
}

fn columns_of(alias: &str) -> Vec<Column> {
    let column = |(name, kind): &(&'static str, Kind)| Column {
        text: format!("{alias}.{name}"),
        kind: *kind,
        of: name,
    };
    COLUMNS.iter().map(column).collect()
}

fn literal(kind: Kind, random: &mut Rng) -> &'static str {
    let all: &[&str] = match kind {
        Kind::Number => &["1", "2.5", "0", "'nan'", "3"],
        Kind::Text => &["'a'", "'a '", "''", "'B'", "'b'"],
        Kind::Time => &["'2024-01-01'", "'2024-01-02'", "'infinity'"],
    };
    all[random.usize(..all.len())]
}

/// The query's rows, sorted, equal values made the same.
fn shown(query: &Query) -> String {
    let (mut names, mut outputs, mut order) = (Vec::new(), Vec::new(), Vec::new());
    for (i, kind) in query.kinds.iter().enumerate() {
        names.push(format!("o{i}"));
        outputs.push(match kind {
            Kind::Number => format!("o{i}::float8::numeric + 0 o{i}"),
            Kind::Text => format!("rtrim(o{i}::text) o{i}"),
            Kind::Time => format!("o{i}::timestamptz o{i}"),
        });
        order.push((i + 1).to_string());
    }
    format!(
        "select {} from ({}) o({}) order by {};",
        outputs.join(", "),
        query.text,
        names.join(", "),
        order.join(", "),
    )
}
