//! PostgreSQL's protocol v3 messages: pure encoding and decoding, no sockets.
