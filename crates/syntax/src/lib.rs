//! SQL text to Thalweg's own syntax tree.
