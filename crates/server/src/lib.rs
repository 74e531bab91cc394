//! Listener, workers and fibers, connections, authentication, settings.
