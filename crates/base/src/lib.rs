//! Waiting, disks, clocks, latches and identifiers: what every layer of Thalweg stands on.
