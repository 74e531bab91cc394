//! Seeded simulation and crash enumeration over the real engine.
