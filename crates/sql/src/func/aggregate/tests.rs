use crate::func::tests::TestSession;
use crate::func::{Accumulator, Aggregate, Context, aggregates};
use crate::types::{Datum, TimestampTz, TypeId, TypeMod, input, output_string};

/// Numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % bound
    }
}

/// An aggregate of one argument, as a window feeds it.
struct Moving {
    aggregate: &'static Aggregate,
    session: TestSession,
}

impl Moving {
    fn context(&mut self) -> Context<'_> {
        Context {
            transaction_start: TimestampTz(0),
            statement_start: TimestampTz(0),
            arg_types: self.aggregate.args,
            result_type: self.aggregate.result,
            variadic: false,
            session: &mut self.session,
        }
    }

    fn read(&mut self, text: &str) -> Datum {
        match text {
            "" => Datum::Null,
            _ => {
                let type_id = self.aggregate.args[0];
                input(type_id, TypeMod::NONE, text, &self.context().io()).unwrap()
            }
        }
    }

    fn is_skipped(&self, row: &Datum) -> bool {
        self.aggregate.strict && row.is_null()
    }

    fn add(&mut self, state: &mut dyn Accumulator, row: &Datum) {
        if !self.is_skipped(row) {
            state.add(&mut self.context(), std::slice::from_ref(row)).unwrap();
        }
    }

    fn remove(&mut self, state: &mut dyn Accumulator, row: &Datum) -> bool {
        self.is_skipped(row)
            || state.remove(&mut self.context(), std::slice::from_ref(row)).unwrap()
    }

    fn anew(&mut self, rows: &[Datum]) -> Box<dyn Accumulator> {
        let mut state = self.aggregate.begin(self.aggregate.args);
        rows.iter().for_each(|row| self.add(&mut *state, row));
        state
    }

    fn value(&mut self, state: &mut dyn Accumulator) -> String {
        let result = self.aggregate.result;
        match state.finish(&mut self.context()).unwrap() {
            Datum::Null => "NULL".to_owned(),
            value => output_string(result, &value, &self.context().io()).unwrap(),
        }
    }
}

const SMALL: &[&str] = &["", "0", "1", "-1", "7", "-300", "32767", "-32768"];
const LARGE: &[&str] = &["", "0", "3", "-5", "9223372036854775807", "-9223372036854775808"];
const NUMERICS: &[&str] = &[
    "",
    "0",
    "0.00",
    "1.25",
    "3",
    "0.00001",
    "-7.5",
    "-7.50",
    "1e30",
    "12.3",
    "NaN",
    "Infinity",
    "4.4",
    "-1",
    "2.718281828",
];
const INTERVALS: &[&str] = &["", "1 mon 2 days", "-3:00:00.000001", "5 years", "-1 day", "0"];
const BOOLEANS: &[&str] = &["", "t", "f", "t", "t"];

#[test]
fn frames_that_move_give_what_those_give_that_begin_anew() {
    let mut cases = Vec::new();
    for name in
        ["var_pop", "var_samp", "variance", "stddev_pop", "stddev_samp", "stddev", "sum", "avg"]
    {
        cases.push((name, TypeId::INT2, SMALL));
        cases.push((name, TypeId::INT4, SMALL));
        cases.push((name, TypeId::INT8, LARGE));
        cases.push((name, TypeId::NUMERIC, NUMERICS));
    }
    cases.extend(["sum", "avg"].map(|name| (name, TypeId::INTERVAL, INTERVALS)));
    cases.extend(["bool_and", "bool_or", "every"].map(|name| (name, TypeId::BOOL, BOOLEANS)));
    let mut numbers = Numbers(4711);
    for (name, type_id, texts) in cases {
        let aggregate = aggregates(name).find(|a| a.args == [type_id]).unwrap();
        let mut moving = Moving { aggregate, session: TestSession::new() };
        assert!(moving.anew(&[]).is_reversible(), "{name} of {type_id:?}");
        for _ in 0..100 {
            let rows: Vec<Datum> =
                (0..30).map(|_| moving.read(texts[numbers.below(texts.len())])).collect();
            let (mut start, mut end) = (0, 0);
            let mut state = moving.anew(&[]);
            while end < rows.len() {
                let (gone_from, new_from) = (start, end);
                start = (start + numbers.below(4)).min(end);
                end = (end + numbers.below(4)).min(rows.len());
                let mut gone = rows[gone_from..start].iter();
                if gone.all(|row| moving.remove(&mut *state, row)) {
                    rows[new_from..end].iter().for_each(|row| moving.add(&mut *state, row));
                } else {
                    state = moving.anew(&rows[start..end]);
                }
                let mut anew = moving.anew(&rows[start..end]);
                let expected = moving.value(&mut *anew);
                let frame = &rows[start..end];
                assert_eq!(moving.value(&mut *state), expected, "{name} of {frame:?}");
            }
        }
    }
}
