//! The Thalweg binary and the embedding API.
//!
//! Embedded, the database runs in the calling program: no server, no sockets, each connection on the
//! thread that uses it.
//!
//! ```no_run
//! let database = thalweg::Database::open("data", "me", &thalweg::Config::new())?;
//! let mut connection = database.connect("postgres", "me")?;
//! connection.query("create table t (a int); insert into t values (1)")?;
//! let answers = connection.query("select a from t")?;
//! assert_eq!(answers[0].rows[0][0].as_deref(), Some("1"));
//! connection.prepare("find", "select a from t where a = $1")?;
//! assert_eq!(connection.execute("find", &[Some("1")])?.rows.len(), 1);
//! drop(connection);
//! database.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod check;
mod embed;

pub use check::{Checked, check};
pub use embed::{Answer, Connection, Database, Notification};
pub use server::StartError;
pub use server::config::Config;
pub use sql::error::SqlError;
