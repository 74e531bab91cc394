//! The few words that the lexer must know.

/// What a word, in lower case, does to the constants after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// Starts an expression: a constant right after it is an operand.
    Expression,
    /// Starts a condition or a list and ends what ORDER BY or AS began.
    Clause,
    /// `AS`: an alias, perhaps with a list; in CAST, a type.
    As,
    /// `ORDER`.
    Order,
    /// `CONFLICT`: an index's expressions follow.
    Conflict,
    /// `DO`.
    Do,
    /// `INTO`.
    Into,
    /// Takes a precision or a length in parentheses.
    Precision,
    /// A statement with this word is not lifted.
    Refuse,
    /// Any other word, names among them.
    Other,
}

pub(super) fn classify(word: &[u8]) -> Word {
    match word {
        b"and" | b"or" | b"not" | b"between" | b"symmetric" | b"case" | b"when" | b"then"
        | b"else" | b"zone" | b"placing" | b"for" => Word::Expression,
        b"select" | b"where" | b"from" | b"on" | b"having" | b"limit" | b"offset"
        | b"returning" | b"values" | b"set" => Word::Clause,
        b"as" => Word::As,
        b"order" => Word::Order,
        b"conflict" => Word::Conflict,
        b"do" => Word::Do,
        b"into" => Word::Into,
        b"varchar" | b"char" | b"character" | b"varying" | b"nchar" | b"bpchar" | b"numeric"
        | b"decimal" | b"dec" | b"float" | b"bit" | b"time" | b"timestamp" | b"timetz"
        | b"timestamptz" | b"interval" | b"second" | b"current_time" | b"current_timestamp"
        | b"localtime" | b"localtimestamp" => Word::Precision,
        b"group" | b"distinct" | b"union" | b"intersect" | b"except" | b"with" | b"window"
        | b"rollup" | b"cube" | b"grouping" | b"uescape" | b"merge" => Word::Refuse,
        _ => Word::Other,
    }
}
