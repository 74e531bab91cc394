//! Upper and lower case by a locale's rules.

use icu_casemap::options::{LeadingAdjustment, TitlecaseOptions, TrailingCase};
use icu_casemap::{CaseMapper, TitlecaseMapper};
use unicode_segmentation::UnicodeSegmentation;

use super::Rules;

impl Rules {
    pub fn lower(&self, text: &str) -> String {
        CaseMapper::new().lowercase_to_string(text, &self.language).into_owned()
    }

    pub fn upper(&self, text: &str) -> String {
        CaseMapper::new().uppercase_to_string(text, &self.language).into_owned()
    }

    /// Each word with a capital, words being those of Unicode's annex 29.
    pub fn initcap(&self, text: &str) -> String {
        let mut options = TitlecaseOptions::default();
        options.leading_adjustment = Some(LeadingAdjustment::Auto);
        options.trailing_case = Some(TrailingCase::Lower);
        let mapper = TitlecaseMapper::new();
        let mut out = String::with_capacity(text.len());
        for word in text.split_word_bounds() {
            out.push_str(&mapper.titlecase_segment_to_string(word, &self.language, options));
        }
        out
    }
}
