//! The format of PostgreSQL's isolation tester: `setup { sql }`, `teardown { sql }`, `session name`, `step name
//! { sql }`, `permutation step …`, comments from `#`. A step in a permutation may carry `(*)`: it is then reported
//! as waiting whether or not it turns out to wait.

/// A spec file.
#[derive(Debug, Default)]
pub struct Spec {
    /// Run one by one, each as a query of its own.
    pub setup: Vec<String>,
    pub teardown: Vec<String>,
    pub sessions: Vec<Session>,
    /// As written; empty: every interleaving.
    permutations: Vec<Vec<Turn>>,
}

#[derive(Debug, Default)]
pub struct Session {
    pub setup: Vec<String>,
    pub teardown: Vec<String>,
    pub steps: Vec<Step>,
}

#[derive(Debug)]
pub struct Step {
    pub name: String,
    pub sql: String,
}

/// A step's turn in a permutation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    pub session: usize,
    pub step: usize,
    /// `(*)`: nobody can tell whether it is found waiting.
    pub waits_anyway: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Sql(String),
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else { return tokens };
        match first {
            '#' => rest = rest.split_once('\n').map_or("", |(_, next)| next),
            '{' => {
                let end = rest.find('}').expect("a block ends");
                tokens.push(Token::Sql(rest[1..end].trim().to_owned()));
                rest = &rest[end + 1..];
            }
            '"' => {
                let end = 1 + rest[1..].find('"').expect("a quoted name ends");
                tokens.push(Token::Word(rest[1..end].to_owned()));
                rest = &rest[end + 1..];
            }
            _ => {
                let is_end = |c: char| c.is_whitespace() || matches!(c, '{' | '#' | '"');
                let end = rest.find(is_end).unwrap_or(rest.len());
                tokens.push(Token::Word(rest[..end].to_owned()));
                rest = &rest[end..];
            }
        }
    }
}

impl Spec {
    /// Reads a spec; panics with what is wrong.
    pub fn parse(text: &str) -> Spec {
        let mut spec = Spec::default();
        let mut tokens = tokens(text).into_iter().peekable();
        let word = |tokens: &mut dyn Iterator<Item = Token>| match tokens.next() {
            Some(Token::Word(word)) => word,
            other => panic!("a name, not {other:?}"),
        };
        let sql = |token: Option<Token>| match token {
            Some(Token::Sql(sql)) => sql,
            other => panic!("a block, not {other:?}"),
        };
        while let Some(token) = tokens.next() {
            let Token::Word(keyword) = token else { panic!("{token:?} is nobody's") };
            match (keyword.as_str(), spec.sessions.last_mut()) {
                ("setup", None) => spec.setup.push(sql(tokens.next())),
                ("teardown", None) => spec.teardown.push(sql(tokens.next())),
                ("setup", Some(session)) => session.setup.push(sql(tokens.next())),
                ("teardown", Some(session)) => session.teardown.push(sql(tokens.next())),
                ("step", Some(session)) => {
                    let name = word(&mut tokens);
                    session.steps.push(Step { name, sql: sql(tokens.next()) });
                }
                ("session", _) => {
                    word(&mut tokens);
                    spec.sessions.push(Session::default());
                }
                ("permutation", Some(_)) => {
                    let mut turns = Vec::new();
                    while let Some(Token::Word(word)) = tokens.peek()
                        && word != "permutation"
                    {
                        turns.push(spec.turn(word));
                        tokens.next();
                    }
                    spec.permutations.push(turns);
                }
                (other, _) => panic!("'{other}' means nothing here"),
            }
        }
        spec
    }

    fn turn(&self, word: &str) -> Turn {
        let (name, waits_anyway) = match word.strip_suffix("(*)") {
            Some(name) => (name, true),
            None => (word, false),
        };
        for (session, of) in self.sessions.iter().enumerate() {
            if let Some(step) = of.steps.iter().position(|step| step.name == name) {
                return Turn { session, step, waits_anyway };
            }
        }
        panic!("no step is called {name}")
    }

    /// The permutations to be run: those written, or every order that keeps each session's own.
    pub fn permutations(&self) -> Vec<Vec<Turn>> {
        if !self.permutations.is_empty() {
            return self.permutations.clone();
        }
        let mut all = Vec::new();
        self.interleave(&mut vec![0; self.sessions.len()], &mut Vec::new(), &mut all);
        all
    }

    fn interleave(&self, next: &mut [usize], so_far: &mut Vec<Turn>, all: &mut Vec<Vec<Turn>>) {
        let mut ended = true;
        for session in 0..self.sessions.len() {
            let step = next[session];
            if step == self.sessions[session].steps.len() {
                continue;
            }
            ended = false;
            next[session] += 1;
            so_far.push(Turn { session, step, waits_anyway: false });
            self.interleave(next, so_far, all);
            so_far.pop();
            next[session] -= 1;
        }
        if ended {
            all.push(so_far.clone());
        }
    }

    /// A permutation as it would be written.
    pub fn written(&self, turns: &[Turn]) -> String {
        let names = turns.iter().map(|turn| {
            let name = &self.sessions[turn.session].steps[turn.step].name;
            format!("{name}{}", if turn.waits_anyway { "(*)" } else { "" })
        });
        names.collect::<Vec<_>>().join(" ")
    }
}
