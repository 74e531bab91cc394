//! The compact form in which golden files show a tree.
//!
//! Made from the tree's `Debug` text, so that it cannot leave out a field by oversight. A node is
//! `(Kind@place :field value …)`; what is absent, empty or false is left out, a flag that is set is
//! its field's name alone, `Some` and the structs inside variants vanish, names are joined by dots.

const WIDTH: usize = 100;

/// `Debug` text, read back.
enum Value {
    /// A number, a keyword, a unit variant, a place, a dotted name.
    Word(String),
    List(Vec<Value>),
    /// A struct, a variant or (without a name) a tuple.
    Node(String, Vec<(String, Value)>),
}

/// The compact form of anything with a derived `Debug`.
pub fn of(tree: &impl std::fmt::Debug) -> String {
    let mut reader = Reader { chars: format!("{tree:?}").chars().collect(), at: 0 };
    let mut out = String::new();
    print(&simplify(reader.value()), 0, &mut out);
    out
}

struct Reader {
    chars: Vec<char>,
    at: usize,
}

impl Reader {
    fn peek(&self) -> char {
        self.chars.get(self.at).copied().unwrap_or('\0')
    }

    fn take(&mut self) -> char {
        self.at += 1;
        self.chars[self.at - 1]
    }

    fn value(&mut self) -> Value {
        match self.peek() {
            '"' => Value::Word(self.string()),
            '[' => Value::List(self.items(']').into_iter().map(|(_, value)| value).collect()),
            _ => {
                let mut word = String::new();
                while !" ,)]}(\0".contains(self.peek()) {
                    word.push(self.take());
                }
                if self.peek() == '(' {
                    return Value::Node(word, self.items(')'));
                }
                if self.peek() == ' ' && self.chars.get(self.at + 1) == Some(&'{') {
                    self.at += 1;
                    return Value::Node(word, self.items('}'));
                }
                Value::Word(word)
            }
        }
    }

    /// What stands between an opening bracket, here, and `close`; named in braces.
    fn items(&mut self, close: char) -> Vec<(String, Value)> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            while " ,".contains(self.peek()) {
                self.at += 1;
            }
            if self.peek() == close {
                self.at += 1;
                return items;
            }
            let mut name = String::new();
            if close == '}' {
                while self.peek() != ':' {
                    name.push(self.take());
                }
                self.at += 2;
            }
            items.push((name, self.value()));
        }
    }

    /// A string, still escaped; without its quotes if it is an identifier.
    fn string(&mut self) -> String {
        let mut text = String::new();
        self.at += 1;
        while self.peek() != '"' {
            if self.peek() == '\\' {
                text.push(self.take());
            }
            text.push(self.take());
        }
        self.at += 1;
        let plain = text.chars().all(|c| c.is_alphanumeric() || c == '_')
            && text.chars().next().is_some_and(|c| !c.is_ascii_digit());
        if plain { text } else { format!("\"{text}\"") }
    }
}

fn is_default(value: &Value) -> bool {
    match value {
        Value::Word(word) => word == "None" || word == "false" || word == "@none",
        Value::List(items) => items.is_empty(),
        Value::Node(..) => false,
    }
}

fn simplify(value: Value) -> Value {
    match value {
        Value::Word(word) => Value::Word(word),
        Value::List(items) => Value::List(items.into_iter().map(simplify).collect()),
        Value::Node(name, fields) => simplify_node(name, fields),
    }
}

/// Is `inner` the struct that holds what the variant `outer` says, rather than a node of its own?
fn is_payload(outer: &str, inner: &str) -> bool {
    const OTHERS: &[&str] = &["ArgList", "BoolExpr", "IndexConstraint", "SetVariable"];
    let named_alike = inner.starts_with(outer) || inner.ends_with(outer);
    !outer.is_empty() && outer != "Some" && (named_alike || OTHERS.contains(&inner))
}

fn simplify_node(name: String, mut fields: Vec<(String, Value)>) -> Value {
    if name == "Some" {
        let inner = simplify(fields.remove(0).1);
        // Not to be taken for the absence of the field.
        return if is_default(&inner) {
            Value::Node(name, vec![(String::new(), inner)])
        } else {
            inner
        };
    }
    // The struct inside a variant of an enum: take its fields.
    if let [(label, Value::Node(inner, _))] = &fields[..]
        && label.is_empty()
        && is_payload(&name, inner)
        && let Some((_, Value::Node(_, inner_fields))) = fields.pop()
    {
        return simplify_node(name, inner_fields);
    }
    let mut head = name;
    let mut kept = Vec::new();
    for (label, value) in fields {
        let value = simplify(value);
        match &value {
            Value::Word(place) if place.starts_with('@') => {
                if place != "@none" {
                    head.push_str(place);
                }
            }
            value if !label.is_empty() && is_default(value) => {}
            _ => kept.push((label, value)),
        }
    }
    if head.starts_with("QualifiedName")
        && let [(_, Value::List(parts))] = &kept[..]
    {
        let parts: Vec<&str> = parts
            .iter()
            .map(|part| match part {
                Value::Word(word) => word.as_str(),
                _ => "?",
            })
            .collect();
        return Value::Word(parts.join("."));
    }
    Value::Node(head, kept)
}

/// Prints on one line if that fits, else one field or item to a line.
fn print(value: &Value, indent: usize, out: &mut String) {
    let flat = flat(value);
    if indent + flat.chars().count() <= WIDTH {
        out.push_str(&flat);
        return;
    }
    match value {
        Value::Word(word) => out.push_str(word),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    newline(indent + 1, out);
                }
                print(item, indent + 1, out);
            }
            out.push(']');
        }
        Value::Node(head, fields) => {
            out.push('(');
            out.push_str(head);
            for (label, value) in fields {
                newline(indent + 1, out);
                let label = label_text(label);
                out.push_str(&label);
                print(value, indent + 1 + label.len(), out);
            }
            out.push(')');
        }
    }
}

fn label_text(label: &str) -> String {
    if label.is_empty() { String::new() } else { format!(":{label} ") }
}

fn newline(indent: usize, out: &mut String) {
    out.push('\n');
    out.extend(std::iter::repeat_n(' ', indent));
}

fn flat(value: &Value) -> String {
    match value {
        Value::Word(word) => word.clone(),
        Value::List(items) => {
            format!("[{}]", items.iter().map(flat).collect::<Vec<_>>().join(" "))
        }
        Value::Node(head, fields) => {
            let mut out = format!("({head}");
            for (label, value) in fields {
                match value {
                    Value::Word(word) if word == "true" && !label.is_empty() => {
                        out.push_str(&format!(" :{label}"));
                    }
                    value => out.push_str(&format!(" {}{}", label_text(label), flat(value))),
                }
            }
            out.push(')');
            out
        }
    }
}
