//! What a context waits for, under PostgreSQL's names, told to whoever watches it.
//!
//! Waiting code says what it is about to wait for ([`during`]); where the context has a *sink*, the event's
//! number stands there until the wait is over. A session gives its context a sink while it is served, and shows
//! what stands there as `wait_event`. Everything here is off the fast paths: whoever need not wait says nothing.

use crate::park;
use crate::sync::unmodelled::{AtomicU32, Ordering};

macro_rules! events {
    ($($(#[$doc:meta])* $event:ident $class:literal $name:literal;)*) => {
        /// What is waited for.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u32)]
        pub enum Event {
            $($(#[$doc])* $event,)*
        }

        /// Class and name of each, in their order.
        const NAMES: &[(&str, &str)] = &[$(($class, $name),)*];

        const ALL: &[Event] = &[$(Event::$event,)*];
    };
}

events! {
    /// The next command, or data that were asked for.
    ClientRead "Client" "ClientRead";
    /// Room for more output.
    ClientWrite "Client" "ClientWrite";
    /// A page's latch.
    BufferContent "LWLock" "BufferContent";
    /// A page that another session brings in.
    BufferIo "IPC" "BufferIO";
    /// A page from its file.
    DataFileRead "IO" "DataFileRead";
    /// A page into its file.
    DataFileWrite "IO" "DataFileWrite";
    /// A relation's file to become longer.
    DataFileExtend "IO" "DataFileExtend";
    /// The system to begin to write a relation's pages to the device.
    DataFileFlush "IO" "DataFileFlush";
    /// A relation's file to become shorter.
    DataFileTruncate "IO" "DataFileTruncate";
    /// Relations' files to be durable.
    DataFileSync "IO" "DataFileSync";
    /// Copies of pages, for the sake of torn ones; PostgreSQL has none.
    DoubleWrite "IO" "DoubleWrite";
    /// The control file.
    ControlFileSync "IO" "ControlFileSyncUpdate";
    /// A temporary file's bytes.
    BufFileRead "IO" "BufFileRead";
    /// Bytes into a temporary file.
    BufFileWrite "IO" "BufFileWrite";
    /// The log to become durable.
    WalSync "IO" "WALSync";
    /// The log into its files.
    WalWrite "IO" "WALWrite";
    /// The log to be read.
    WalRead "IO" "WALRead";
    /// Space in the log's memory.
    WalSpace "LWLock" "WALBufMapping";
    /// A new segment of the log.
    WalInit "IO" "WALInitWrite";
    /// A frame of the cache; PostgreSQL's sessions write pages themselves.
    FreeFrame "IPC" "BufferFree";
    /// Holds of a page that is to go.
    BufferPin "BufferPin" "BufferPin";
    /// A status log's files to be durable.
    SlruSync "IO" "SLRUSync";
    /// A lock on a table or an index.
    LockRelation "Lock" "relation";
    /// A place in a row's queue.
    LockTuple "Lock" "tuple";
    /// A transaction's end.
    LockTransaction "Lock" "transactionid";
    /// A lock on something that is no relation.
    LockObject "Lock" "object";
    /// A lock that applications have made up.
    LockAdvisory "Lock" "advisory";
    /// Snapshots that are older.
    OldSnapshots "Lock" "virtualxid";
    /// A checkpoint that another has begun, or what is left of one's own.
    Checkpoint "IPC" "CheckpointDone";
    /// Helpers of an index's sort.
    IndexSort "IPC" "ParallelCreateIndexScan";
    /// Sessions to end.
    BackendEnd "IPC" "BackendTermination";
    /// A vacuum's rest.
    VacuumDelay "Timeout" "VacuumDelay";
    /// A table for itself, to cut it.
    VacuumTruncate "Timeout" "VacuumTruncate";
    /// Another try at what a disk refused.
    Retry "Timeout" "RetryDelay";
    /// Files to be removed.
    FilesRemoved "IPC" "FileRemoval";
    /// A latch of the lock table.
    LockManagerLatch "LWLock" "LockManager";
    /// A latch of the cache's bookkeeping.
    BufferMappingLatch "LWLock" "BufferMapping";
    /// A latch of the table of relations' files.
    RelFileLatch "LWLock" "RelFile";
    /// A latch of the log's segments.
    WalLatch "LWLock" "WALWrite";
    /// Another latch.
    Latch "LWLock" "Latch";
    /// A file, of whatever kind.
    File "IO" "File";
    /// A status log's page from its file.
    SlruRead "IO" "SLRURead";
    /// A status log's page into its file.
    SlruWrite "IO" "SLRUWrite";
    /// `pg_sleep`.
    PgSleep "Timeout" "PgSleep";
    /// A bank of the commit timestamps' cache.
    CommitTsBank "LWLock" "CommitTsSLRU";
    /// A bank of the multixact members' cache.
    MultiXactMemberBank "LWLock" "MultiXactMemberSLRU";
    /// A bank of the multixact offsets' cache.
    MultiXactOffsetBank "LWLock" "MultiXactOffsetSLRU";
    /// A bank of the notification queue's cache.
    NotifyBank "LWLock" "NotifySLRU";
    /// A bank of the serializable summaries' cache.
    SerialBank "LWLock" "SerialSLRU";
    /// A bank of the subtransactions' cache.
    SubtransBank "LWLock" "SubtransSLRU";
    /// A bank of the transactions' cache.
    XactBank "LWLock" "XactSLRU";
    /// Another's I/O on a page of commit timestamps.
    CommitTsBuffer "LWLock" "CommitTsBuffer";
    /// Another's I/O on a page of multixact members.
    MultiXactMemberBuffer "LWLock" "MultiXactMemberBuffer";
    /// Another's I/O on a page of multixact offsets.
    MultiXactOffsetBuffer "LWLock" "MultiXactOffsetBuffer";
    /// Another's I/O on a page of the notification queue.
    NotifyBuffer "LWLock" "NotifyBuffer";
    /// Another's I/O on a page of serializable summaries.
    SerialBuffer "LWLock" "SerialBuffer";
    /// Another's I/O on a page of subtransactions.
    SubtransBuffer "LWLock" "SubtransBuffer";
    /// Another's I/O on a page of transactions.
    XactBuffer "LWLock" "XactBuffer";
}

impl Event {
    /// `wait_event_type`.
    pub fn class(self) -> &'static str {
        NAMES[self as usize].0
    }

    /// `wait_event`.
    pub fn name(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// What a sink shows; nothing while nothing is waited for.
    pub fn in_sink(sink: &AtomicU32) -> Option<Event> {
        // Relaxed here and below: a number to look at, nothing hangs on it.
        (sink.load(Ordering::Relaxed) as usize).checked_sub(1).map(|at| ALL[at])
    }
}

/// Has the current context's waits shown in `sink`, or nowhere.
#[inline]
pub fn report_to(sink: Option<&'static AtomicU32>) {
    let sink = sink.map_or(std::ptr::null_mut(), |sink| std::ptr::from_ref(sink).cast_mut());
    park::with_current(|me| me.sink.store(sink, Ordering::Relaxed));
}

/// A wait that is under way; over when it is dropped. Then what was waited for before, if anything, shows again.
#[must_use = "the wait is over when this is dropped"]
pub struct Waiting {
    sink: Option<&'static AtomicU32>,
    before: u32,
}

/// The current context is about to wait.
pub fn during(event: Event) -> Waiting {
    let sink = park::with_current(sink_of);
    let before = sink.map_or(0, |sink| {
        let before = sink.load(Ordering::Relaxed);
        sink.store(event as u32 + 1, Ordering::Relaxed);
        before
    });
    Waiting { sink, before }
}

/// The current context is about to wait for `event`, unless whoever had it wait has a better name for it.
pub fn during_unnamed(event: Event) -> Waiting {
    match park::with_current(sink_of) {
        Some(sink) if sink.load(Ordering::Relaxed) == 0 => during(event),
        _ => Waiting { sink: None, before: 0 },
    }
}

fn sink_of(me: &park::Inner) -> Option<&'static AtomicU32> {
    // SAFETY: only `report_to` stores it, from a reference that lives for ever.
    unsafe { me.sink.load(Ordering::Relaxed).as_ref() }
}

/// Whether somebody who looks would not learn what the context waits for: a served session that parks without saying
/// so. Debug builds end there ([`park`]), so that every test looks for such places.
pub(crate) fn is_nameless(me: &park::Inner) -> bool {
    sink_of(me).is_some_and(|sink| sink.load(Ordering::Relaxed) == 0)
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(sink) = self.sink {
            sink.store(self.before, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sink_shows_what_is_waited_for_while_it_is() {
        static SINK: AtomicU32 = AtomicU32::new(0);
        drop(during(Event::PgSleep));
        assert_eq!(Event::in_sink(&SINK), None);
        report_to(Some(&SINK));
        {
            let _waiting = during(Event::SubtransBuffer);
            let shown = Event::in_sink(&SINK).map(|event| (event.class(), event.name()));
            assert_eq!(shown, Some(("LWLock", "SubtransBuffer")));
        }
        assert_eq!(Event::in_sink(&SINK), None);
        {
            let _outer = during(Event::XactBank);
            drop(during_unnamed(Event::Latch));
            assert_eq!(Event::in_sink(&SINK), Some(Event::XactBank));
            drop(during(Event::SlruRead));
            assert_eq!(Event::in_sink(&SINK), Some(Event::XactBank), "the inner wait is over");
        }
        let inner = during_unnamed(Event::Latch);
        assert_eq!(Event::in_sink(&SINK), Some(Event::Latch));
        drop(inner);
        report_to(None);
        let _waiting = during(Event::PgSleep);
        assert_eq!(Event::in_sink(&SINK), None);
    }
}
