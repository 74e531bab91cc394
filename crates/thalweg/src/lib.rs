//! The Thalweg binary and the embedding API.
