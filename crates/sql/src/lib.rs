//! Types, catalog, binder, planner, executor, session.
