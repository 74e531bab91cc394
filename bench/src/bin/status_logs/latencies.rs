//! Times of transactions, from pgbench's log.

use std::path::Path;

/// What one run's log tells.
#[derive(Debug, PartialEq)]
pub struct Latencies {
    /// Median and longest time of a transaction, milliseconds.
    pub median_ms: f64,
    pub longest_ms: f64,
    /// Logged transactions of the client with the fewest and of the one with the most.
    pub least: u64,
    pub most: u64,
}

/// What pgbench has logged for so many clients; the log is removed.
pub fn take(logs: &Path, clients: u32) -> Result<Latencies, String> {
    let failed = |e: std::io::Error| format!("{}: {e}", logs.display());
    let mut text = String::new();
    for file in std::fs::read_dir(logs).map_err(failed)? {
        text += &std::fs::read_to_string(file.map_err(failed)?.path()).map_err(failed)?;
    }
    std::fs::remove_dir_all(logs).map_err(failed)?;
    of_log(&text, clients).ok_or_else(|| "pgbench has logged nothing".to_owned())
}

/// Lines begin with the client's number, the transaction's and the time that it took, microseconds. A client without
/// a line has starved.
fn of_log(text: &str, clients: u32) -> Option<Latencies> {
    let mut micros: Vec<u64> = Vec::new();
    let mut done = vec![0u64; clients as usize];
    for line in text.lines() {
        let mut fields = line.split(' ');
        let client = fields.next().and_then(|field| field.parse::<usize>().ok());
        let Some(time) = fields.nth(1).and_then(|field| field.parse().ok()) else { continue };
        micros.push(time);
        if let Some(done) = client.and_then(|client| done.get_mut(client)) {
            *done += 1;
        }
    }
    micros.sort_unstable();
    Some(Latencies {
        median_ms: *micros.get(micros.len() / 2)? as f64 / 1e3,
        longest_ms: *micros.last()? as f64 / 1e3,
        least: *done.iter().min()?,
        most: *done.iter().max()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_starves_is_seen() {
        let log = "0 1 2000 0 1700000000 5\n2 1 9000 0 1700000000 6\n0 2 1000 0 1700000000 7\n";
        let expected = Latencies { median_ms: 2.0, longest_ms: 9.0, least: 0, most: 2 };
        assert_eq!(of_log(log, 3), Some(expected));
        assert_eq!(of_log("", 3), None);
    }
}
