//! Zone abbreviations that input accepts: PostgreSQL's `Default` set.
//!
//! Source: the `timezonesets` of PostgreSQL 15. Most mean one offset; those whose offset changed
//! over time mean whatever the named zone meant by them at the moment in question.

/// An abbreviation, in lower case, and its meaning.
#[derive(Clone, Copy, Debug)]
pub struct Abbreviation {
    pub name: &'static str,
    pub meaning: Meaning,
}

/// What an abbreviation stands for.
#[derive(Clone, Copy, Debug)]
pub enum Meaning {
    /// A constant offset.
    Fixed { east_s: i32, is_dst: bool },
    /// Whatever this zone means by it.
    Zone(&'static str),
}

impl Abbreviation {
    /// Looks up an abbreviation in lower case.
    pub fn find(lower: &str) -> Option<&'static Abbreviation> {
        ABBREVIATIONS.binary_search_by(|a| a.name.cmp(lower)).ok().map(|i| &ABBREVIATIONS[i])
    }
}

/// `name offset_east` for standard time, `name offset_east dst` for daylight-saving time,
/// `name "zone"` for a changing meaning; sorted.
macro_rules! abbreviations {
    (@meaning $offset:literal std) => { Meaning::Fixed { east_s: $offset, is_dst: false } };
    (@meaning $offset:literal dst) => { Meaning::Fixed { east_s: $offset, is_dst: true } };
    (@meaning $zone:literal zone) => { Meaning::Zone($zone) };
    ($($name:literal $what:literal $kind:ident;)*) => {
        /// All abbreviations, sorted by name.
        pub static ABBREVIATIONS: &[Abbreviation] = &[
            $(Abbreviation { name: $name, meaning: abbreviations!(@meaning $what $kind) },)*
        ];
    };
}

abbreviations! {
    "acdt" 37800 dst;
    "acsst" 37800 dst;
    "acst" 34200 std;
    "act" -18000 std;
    "acwst" 31500 std;
    "adt" -10800 dst;
    "aedt" 39600 dst;
    "aesst" 39600 dst;
    "aest" 36000 std;
    "aft" 16200 std;
    "akdt" -28800 dst;
    "akst" -32400 std;
    "almst" 25200 dst;
    "almt" 21600 std;
    "amst" "Asia/Yerevan" zone;
    "amt" -14400 std;
    "anast" "Asia/Anadyr" zone;
    "anat" "Asia/Anadyr" zone;
    "arst" "America/Argentina/Buenos_Aires" zone;
    "art" "America/Argentina/Buenos_Aires" zone;
    "ast" -14400 std;
    "awsst" 32400 dst;
    "awst" 28800 std;
    "azost" 0 dst;
    "azot" -3600 std;
    "azst" "Asia/Baku" zone;
    "azt" "Asia/Baku" zone;
    "bdst" 7200 dst;
    "bdt" 21600 std;
    "bnt" 28800 std;
    "bort" 28800 std;
    "bot" -14400 std;
    "bra" -10800 std;
    "brst" -7200 dst;
    "brt" -10800 std;
    "bst" 3600 dst;
    "btt" 21600 std;
    "cadt" 37800 dst;
    "cast" 34200 std;
    "cct" 28800 std;
    "cdt" -18000 dst;
    "cest" 7200 dst;
    "cet" 3600 std;
    "cetdst" 7200 dst;
    "chadt" 49500 dst;
    "chast" 45900 std;
    "chut" 36000 std;
    "ckt" "Pacific/Rarotonga" zone;
    "clst" -10800 dst;
    "clt" "America/Santiago" zone;
    "cot" -18000 std;
    "cst" -21600 std;
    "cxt" 25200 std;
    "davt" "Antarctica/Davis" zone;
    "ddut" 36000 std;
    "easst" "Pacific/Easter" zone;
    "east" "Pacific/Easter" zone;
    "eat" 10800 std;
    "edt" -14400 dst;
    "eest" 10800 dst;
    "eet" 7200 std;
    "eetdst" 10800 dst;
    "egst" 0 dst;
    "egt" -3600 std;
    "est" -18000 std;
    "fet" 10800 std;
    "fjst" 46800 dst;
    "fjt" 43200 std;
    "fkst" "Atlantic/Stanley" zone;
    "fkt" "Atlantic/Stanley" zone;
    "fnst" -3600 dst;
    "fnt" -7200 std;
    "galt" -21600 std;
    "gamt" -32400 std;
    "gest" "Asia/Tbilisi" zone;
    "get" "Asia/Tbilisi" zone;
    "gft" -10800 std;
    "gilt" 43200 std;
    "gmt" 0 std;
    "gyt" "America/Guyana" zone;
    "hkt" 28800 std;
    "hst" -36000 std;
    "ict" 25200 std;
    "idt" 10800 dst;
    "iot" "Indian/Chagos" zone;
    "irkst" "Asia/Irkutsk" zone;
    "irkt" "Asia/Irkutsk" zone;
    "irt" 12600 std;
    "ist" 7200 std;
    "jayt" 32400 std;
    "jst" 32400 std;
    "kdt" 36000 dst;
    "kgst" 21600 dst;
    "kgt" "Asia/Bishkek" zone;
    "kost" "Pacific/Kosrae" zone;
    "krast" "Asia/Krasnoyarsk" zone;
    "krat" "Asia/Krasnoyarsk" zone;
    "kst" 32400 std;
    "lhdt" "Australia/Lord_Howe" zone;
    "lhst" 37800 std;
    "ligt" 36000 std;
    "lint" "Pacific/Kiritimati" zone;
    "lkt" "Asia/Colombo" zone;
    "magst" "Asia/Magadan" zone;
    "magt" "Asia/Magadan" zone;
    "mart" -34200 std;
    "mawt" "Antarctica/Mawson" zone;
    "mdt" -21600 dst;
    "mest" 7200 dst;
    "mesz" 7200 dst;
    "met" 3600 std;
    "metdst" 7200 dst;
    "mez" 3600 std;
    "mht" 43200 std;
    "mmt" 23400 std;
    "mpt" 36000 std;
    "msd" 14400 dst;
    "msk" "Europe/Moscow" zone;
    "mst" -25200 std;
    "must" 18000 dst;
    "mut" 14400 std;
    "mvt" 18000 std;
    "myt" 28800 std;
    "ndt" -9000 dst;
    "nft" -12600 std;
    "novst" "Asia/Novosibirsk" zone;
    "novt" "Asia/Novosibirsk" zone;
    "npt" 20700 std;
    "nst" -12600 std;
    "nut" "Pacific/Niue" zone;
    "nzdt" 46800 dst;
    "nzst" 43200 std;
    "nzt" 43200 std;
    "omsst" "Asia/Omsk" zone;
    "omst" "Asia/Omsk" zone;
    "pdt" -25200 dst;
    "pet" -18000 std;
    "petst" "Asia/Kamchatka" zone;
    "pett" "Asia/Kamchatka" zone;
    "pgt" 36000 std;
    "pht" 28800 std;
    "pkst" 21600 dst;
    "pkt" 18000 std;
    "pmdt" -7200 dst;
    "pmst" -10800 std;
    "pont" 39600 std;
    "pst" -28800 std;
    "pwt" 32400 std;
    "pyst" -10800 dst;
    "pyt" "America/Asuncion" zone;
    "ret" 14400 std;
    "sadt" 37800 dst;
    "sast" 7200 std;
    "sct" 14400 std;
    "sgt" "Asia/Singapore" zone;
    "taht" -36000 std;
    "tft" 18000 std;
    "tjt" 18000 std;
    "tkt" "Pacific/Fakaofo" zone;
    "tmt" "Asia/Ashgabat" zone;
    "tot" 46800 std;
    "trut" 36000 std;
    "tvt" 43200 std;
    "uct" 0 std;
    "ulast" 32400 dst;
    "ulat" "Asia/Ulaanbaatar" zone;
    "ut" 0 std;
    "utc" 0 std;
    "uyst" -7200 dst;
    "uyt" -10800 std;
    "uzst" 21600 dst;
    "uzt" 18000 std;
    "vet" "America/Caracas" zone;
    "vlast" "Asia/Vladivostok" zone;
    "vlat" "Asia/Vladivostok" zone;
    "volt" "Europe/Volgograd" zone;
    "vut" 39600 std;
    "wadt" 28800 dst;
    "wakt" 43200 std;
    "wast" 25200 std;
    "wat" 3600 std;
    "wdt" 32400 dst;
    "wet" 0 std;
    "wetdst" 3600 dst;
    "wft" 43200 std;
    "wgst" -7200 dst;
    "wgt" -10800 std;
    "xjt" 21600 std;
    "yakst" "Asia/Yakutsk" zone;
    "yakt" "Asia/Yakutsk" zone;
    "yapt" 36000 std;
    "yekst" 21600 dst;
    "yekt" "Asia/Yekaterinburg" zone;
    "z" 0 std;
    "zulu" 0 std;
}
