//! The storage core: WAL, buffer cache, transaction logs, heap, indexes, recovery.
