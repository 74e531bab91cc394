//! Colours, each for paper and for dark screens. Plots are drawn in those for paper; the page's style sheet
//! exchanges them by their value.

use plotters::style::RGBColor;

/// A colour in both lights, as red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour {
    pub light: [u8; 3],
    pub dark: [u8; 3],
}

const fn colour(light: u32, dark: u32) -> Colour {
    const fn parts(value: u32) -> [u8; 3] {
        [(value >> 16) as u8, (value >> 8) as u8, value as u8]
    }
    Colour { light: parts(light), dark: parts(dark) }
}

pub const INK: Colour = colour(0x1b_1f_24, 0xe6_e8_eb);
pub const MUTED: Colour = colour(0x5b_65_70, 0x9a_a4_af);
pub const GRID: Colour = colour(0xe3_e6_ea, 0x2d_33_3b);
pub const SEED: Colour = colour(0x71_7a_83, 0x7d_87_91);
const THALWEG: Colour = colour(0x0b_62_c4, 0x5a_a9_ff);
const PG15: Colour = colour(0xb9_53_0a, 0xff_9a_4d);
const PG18: Colour = colour(0x8e_3b_9e, 0xd5_8a_e6);
const CANNED: Colour = colour(0x66_6f_78, 0xa7_b0_ba);
/// For what has no colour of its own.
const OTHERS: [Colour; 6] = [
    colour(0x0f_7b_53, 0x4c_c3_8a),
    colour(0xb0_27_4f, 0xff_7a_9c),
    colour(0x8a_6d_00, 0xe2_c0_44),
    colour(0x2a_7f_8f, 0x5c_c9_da),
    colour(0x6a_4f_c1, 0xa9_95_ff),
    colour(0x1f_5f_a8, 0x6f_b1_ff),
];

/// How many can be told apart by their number.
pub const NUMBERED: usize = OTHERS.len();

/// Every colour that a plot may hold.
pub fn all() -> impl Iterator<Item = Colour> {
    [INK, MUTED, GRID, SEED, THALWEG, PG15, PG18, CANNED].into_iter().chain(OTHERS)
}

/// A server's own colour, the same in every plot.
pub fn of_target(target: &str, number: usize) -> Colour {
    match target {
        "thalweg" => THALWEG,
        "pg15" => PG15,
        "pg18" => PG18,
        "thalweg-counting" => OTHERS[0],
        "canned" | "bare-sync" | "device" => CANNED,
        _ => of_number(number),
    }
}

/// The colour of the nth of several alike.
pub fn of_number(number: usize) -> Colour {
    OTHERS[number % OTHERS.len()]
}

impl Colour {
    pub fn drawn(&self) -> RGBColor {
        let [r, g, b] = self.light;
        RGBColor(r, g, b)
    }

    /// Rules that exchange this colour's light form for its dark one.
    pub fn rule(&self) -> String {
        let hex = |[r, g, b]: [u8; 3]| format!("#{r:02X}{g:02X}{b:02X}");
        let (light, dark) = (hex(self.light), hex(self.dark));
        format!("svg [stroke=\"{light}\"]{{stroke:{dark}}}svg [fill=\"{light}\"]{{fill:{dark}}}")
    }
}
