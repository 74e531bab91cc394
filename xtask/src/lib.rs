//! Repository chores: the tidy check and generated documents.
