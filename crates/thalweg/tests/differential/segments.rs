//! Cuts what psql printed for a script (`-a`: it echoes its input) into one piece per statement.

use std::collections::BTreeMap;

/// Output by the line (from 1) on which the statement ends.
pub fn split(script: &str, output: &str) -> BTreeMap<usize, String> {
    let input: Vec<&str> = script.lines().collect();
    let mut pieces = BTreeMap::new();
    let mut at = 0;
    for line in output.lines().filter(|l| !l.starts_with("LOCATION:")) {
        // Lines of COPY data are read but not echoed: skip over them to the next echo.
        let reach = input.len().min(at + 12);
        match input[at..reach].iter().position(|l| *l == line) {
            Some(ahead) if ahead == 0 || is_after_copy(&input[at..at + ahead]) => {
                at += ahead + 1;
                pieces.insert(at, String::new());
            }
            _ => {
                let piece: &mut String = pieces.entry(at).or_default();
                piece.push_str(line);
                piece.push('\n');
            }
        }
    }
    pieces
}

/// Whether the skipped lines end a COPY's data.
fn is_after_copy(skipped: &[&str]) -> bool {
    skipped.last() == Some(&"\\.")
}

/// Both outputs, for the report.
pub fn difference(place: &str, expected: &str, actual: &str) -> String {
    format!("--- {place}\nPostgreSQL 15:\n{expected}Thalweg:\n{actual}")
}
