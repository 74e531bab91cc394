//! What distinguishes the logs: name, directory, number of buffers, whether a crash must not lose them.

use base::wait_event::Event;

/// Slots of a bank: how many tags a look-up compares at most.
pub const BANK_SLOTS: usize = 16;

/// Pages of a segment file.
pub const SEGMENT_PAGES: u64 = 32;

/// Which log; the order is that of `pg_stat_slru`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
#[repr(u8)]
pub enum LogKind {
    /// Commit timestamps.
    CommitTs = 0,
    /// Members of multixacts.
    MultiXactMember = 1,
    /// Where a multixact's members begin.
    MultiXactOffset = 2,
    /// Notification queue.
    Notify = 3,
    /// Summaries of finished serializable transactions.
    Serial = 4,
    /// What left the in-memory window of commit numbers and subtransaction parents.
    Subtrans = 5,
    /// Two status bits a transaction.
    Xact = 6,
}

/// Number of logs.
pub const LOGS: usize = 7;

/// Every log.
pub const ALL_LOGS: [LogKind; LOGS] = [
    LogKind::CommitTs,
    LogKind::MultiXactMember,
    LogKind::MultiXactOffset,
    LogKind::Notify,
    LogKind::Serial,
    LogKind::Subtrans,
    LogKind::Xact,
];

impl LogKind {
    /// PostgreSQL's name of it, as in `pg_stat_slru.name`.
    pub const fn name(self) -> &'static str {
        match self {
            LogKind::CommitTs => "CommitTs",
            LogKind::MultiXactMember => "MultiXactMember",
            LogKind::MultiXactOffset => "MultiXactOffset",
            LogKind::Notify => "Notify",
            LogKind::Serial => "Serial",
            LogKind::Subtrans => "Subtrans",
            LogKind::Xact => "Xact",
        }
    }

    /// What is waited for where a bank's latch is.
    pub const fn bank_event(self) -> Event {
        match self {
            LogKind::CommitTs => Event::CommitTsBank,
            LogKind::MultiXactMember => Event::MultiXactMemberBank,
            LogKind::MultiXactOffset => Event::MultiXactOffsetBank,
            LogKind::Notify => Event::NotifyBank,
            LogKind::Serial => Event::SerialBank,
            LogKind::Subtrans => Event::SubtransBank,
            LogKind::Xact => Event::XactBank,
        }
    }

    /// What is waited for where another's I/O on a page is.
    pub const fn buffer_event(self) -> Event {
        match self {
            LogKind::CommitTs => Event::CommitTsBuffer,
            LogKind::MultiXactMember => Event::MultiXactMemberBuffer,
            LogKind::MultiXactOffset => Event::MultiXactOffsetBuffer,
            LogKind::Notify => Event::NotifyBuffer,
            LogKind::Serial => Event::SerialBuffer,
            LogKind::Subtrans => Event::SubtransBuffer,
            LogKind::Xact => Event::XactBuffer,
        }
    }

    /// The crash window in which its pages begin.
    pub const fn page_window(self) -> &'static str {
        match self {
            LogKind::CommitTs => "commit-times-page",
            LogKind::MultiXactMember | LogKind::MultiXactOffset => "multixact-page",
            LogKind::Notify | LogKind::Serial | LogKind::Subtrans | LogKind::Xact => "status-page",
        }
    }

    /// The crash window in which files that hold nothing any more are removed.
    pub const fn removal_window(self) -> &'static str {
        match self {
            LogKind::CommitTs => "commit-times-removed",
            LogKind::MultiXactMember | LogKind::MultiXactOffset => "multixacts-removed",
            LogKind::Notify | LogKind::Serial | LogKind::Subtrans | LogKind::Xact => {
                "status-removed"
            }
        }
    }

    /// The crash window in which a segment takes its other form, packed or plain.
    pub const fn packing_window(self) -> &'static str {
        match self {
            LogKind::CommitTs => "commit-times-packed",
            _ => "status-packed",
        }
    }

    /// Where its segment files lie in the data directory.
    pub const fn directory(self) -> &'static str {
        match self {
            LogKind::CommitTs => "txlog/commit_ts",
            LogKind::MultiXactMember => "txlog/multixact_members",
            LogKind::MultiXactOffset => "txlog/multixact_offsets",
            LogKind::Notify => "txlog/notify",
            LogKind::Serial => "txlog/serial",
            LogKind::Subtrans => "txlog/subtrans",
            LogKind::Xact => "txlog/xact",
        }
    }

    /// Whether it must survive a crash; the others start empty.
    pub const fn is_durable(self) -> bool {
        matches!(self, LogKind::CommitTs | LogKind::Xact)
    }

    /// The setting that sizes its cache.
    pub const fn setting(self) -> &'static str {
        match self {
            LogKind::CommitTs => "commit_timestamp_buffers",
            LogKind::MultiXactMember => "multixact_member_buffers",
            LogKind::MultiXactOffset => "multixact_offset_buffers",
            LogKind::Notify => "notify_buffers",
            LogKind::Serial => "serializable_buffers",
            LogKind::Subtrans => "subtransaction_buffers",
            LogKind::Xact => "transaction_buffers",
        }
    }

    /// Buffers when the setting is 0. For the logs that grow with the load it is a 512th of the buffer
    /// cache within 16..=1024; for the others a constant. Both as PostgreSQL documents them.
    pub const fn default_buffers(self, shared_buffers: usize) -> usize {
        match self {
            LogKind::CommitTs | LogKind::Subtrans | LogKind::Xact => {
                let share = shared_buffers / 512;
                if share < 16 {
                    16
                } else if share > 1024 {
                    1024
                } else {
                    share
                }
            }
            LogKind::MultiXactMember => 32,
            LogKind::MultiXactOffset | LogKind::Notify => 16,
            LogKind::Serial => 32,
        }
    }
}

/// Buffers per log, in pages of 8 KiB; 0 takes [`LogKind::default_buffers`]. Rounded up to whole banks.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogBuffers(pub [usize; LOGS]);

impl LogBuffers {
    /// Banks of a log's cache: at least one, any number.
    pub fn banks(&self, log: LogKind, shared_buffers: usize) -> usize {
        let buffers = match self.0[log as usize] {
            0 => log.default_buffers(shared_buffers),
            set => set,
        };
        buffers.div_ceil(BANK_SLOTS).max(1)
    }
}
