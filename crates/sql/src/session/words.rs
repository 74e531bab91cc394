//! Lists of names in settings.

/// The names of a `search_path`: separated by commas, folded unless quoted.
pub fn path_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut chars = text.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace() || *c == ',').is_some() {}
        let Some(first) = chars.peek() else { return words };
        let mut word = String::new();
        if *first == '"' {
            chars.next();
            while let Some(c) = chars.next() {
                if c == '"' && chars.next_if_eq(&'"').is_none() {
                    break;
                }
                word.push(c);
            }
        } else {
            while let Some(c) = chars.next_if(|c| *c != ',' && !c.is_whitespace()) {
                word.extend(c.to_lowercase());
            }
        }
        words.push(word);
    }
}
