//! Charts, drawn the same on paper (PNG) and in the page (SVG): few lines, named where they end, with the
//! spread of the repetitions on each point.

use super::colours::{Colour, GRID, INK, MUTED};
use crate::table::short;
use plotters::backend::{BitMapBackend, SVGBackend};
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea};
use plotters::element::{Circle, PathElement, Polygon, Rectangle, Text};
use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontFamily, FontStyle, IntoFont, IntoTextStyle, TextStyle, WHITE};
use std::path::Path;
use std::sync::Once;

/// One chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Name of its file.
    pub name: String,
    pub title: String,
    /// What a glance should take away.
    pub finding: String,
    pub x_label: String,
    /// With its unit.
    pub y_label: String,
    pub form: Form,
    pub log: bool,
    /// Whether it shows ratios: then one is where nothing changes.
    pub ratio: bool,
    /// Which of the bars' groups are none, but headings of those below.
    pub headings: Vec<usize>,
    pub series: Vec<Series>,
}

/// What it looks like.
#[derive(Clone, Debug, PartialEq)]
pub enum Form {
    /// Lines over these places, at equal distances.
    Lines(Vec<String>),
    /// Lines over seconds; the range of each, if it has one, as a band around it.
    Course,
    /// Bars, a group for each of these.
    Bars(Vec<String>),
}

/// A line, or the bars of one colour.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub label: String,
    pub colour: Colour,
    pub dashed: bool,
    pub points: Vec<Point>,
}

/// A median with its range; `x` is a place's number, or seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    pub low: f64,
    pub high: f64,
}

const WIDTH: u32 = 800;
const LINES_HEIGHT: u32 = 400;
/// Characters of a title and of a finding that fit beside each other.
pub const TITLE_LINE: usize = 88;
const LINE: usize = 108;
/// What a line of either takes, and what is above the plot besides.
const TITLE_HEIGHT: f64 = 19.0;
const FINDING_HEIGHT: f64 = 14.0;
const ABOVE: f64 = 55.0;
const BOTTOM: f64 = 48.0;
const LEFT: f64 = 64.0;
/// Room for the lines' names: at least, at most, and of a character, which may be bold.
const NAMES: (f64, f64) = (90.0, 330.0);
const NAME_CHARACTER: f64 = 6.9;
/// How much of a band is seen.
const BAND: f64 = 0.18;
/// Room for the names of bars' groups: at least, at most, and of a character.
const BAR_LEFT: (f64, f64) = (120.0, 340.0);
/// Characters of a bar's name that fit beside each other into that; what is longer has two lines, for which one bar is high enough.
pub const BAR_NAME: usize = 44;
pub const CHARACTER: f64 = 6.8;
const BAR: f64 = 15.0;
const GROUP_GAP: f64 = 12.0;
/// Pixels of a PNG for each of the page.
const DENSITY: f64 = 2.0;

type Drawn<DB> = Result<(), DrawingAreaErrorKind<<DB as DrawingBackend>::ErrorType>>;

impl Chart {
    fn height(&self) -> u32 {
        match &self.form {
            Form::Bars(groups) => {
                let bars = (0..groups.len()).map(|group| self.group_height(group)).sum::<f64>();
                (self.top() + BOTTOM + bars) as u32
            }
            _ => LINES_HEIGHT,
        }
    }

    /// Where the plot begins, below title and finding.
    fn top(&self) -> f64 {
        let titles = wrapped(&self.title, TITLE_LINE).len() as f64;
        let findings = wrapped(&self.finding, LINE).len() as f64;
        ABOVE + titles * TITLE_HEIGHT + findings * FINDING_HEIGHT
    }

    /// Room for the lines' names beside their ends.
    fn names_width(&self) -> f64 {
        let longest = self.series.iter().map(|s| s.label.chars().count()).max().unwrap_or(0);
        (22.0 + longest as f64 * NAME_CHARACTER).clamp(NAMES.0, NAMES.1)
    }

    /// What the axis of values is called.
    fn value_label(&self) -> String {
        let log = if self.log { " (logarithmic)" } else { "" };
        format!("{}{log}", self.y_label)
    }

    /// The series that have a bar in a group, in order.
    fn bars_of(&self, group: usize) -> impl Iterator<Item = (&Series, &Point)> {
        let of = move |s: &'_ Series| s.points.iter().position(|p| p.x == group as f64);
        self.series.iter().filter_map(move |s| Some((s, &s.points[of(s)?])))
    }

    /// Where bars begin. A heading lies above them.
    fn bar_left(&self, groups: &[String]) -> f64 {
        let named = groups.iter().enumerate().filter(|(at, _)| !self.headings.contains(at));
        bar_left(&named.map(|(_, name)| name.clone()).collect::<Vec<_>>())
    }

    fn group_height(&self, group: usize) -> f64 {
        self.bars_of(group).count().max(1) as f64 * BAR + GROUP_GAP
    }

    /// As a picture for the page.
    pub fn svg(&self) -> Result<String, String> {
        fonts();
        let mut text = String::new();
        {
            let root = SVGBackend::with_string(&mut text, (WIDTH, self.height()));
            let area = root.into_drawing_area();
            let canvas = Canvas { area: &area, density: 1.0 };
            canvas.chart(self).and_then(|()| area.present()).map_err(|e| e.to_string())?;
        }
        Ok(text)
    }

    /// As a file of its own.
    pub fn png(&self, path: &Path) -> Result<(), String> {
        fonts();
        let size = |pixels: u32| (f64::from(pixels) * DENSITY) as u32;
        let root = BitMapBackend::new(path, (size(WIDTH), size(self.height())));
        let area = root.into_drawing_area();
        let canvas = Canvas { area: &area, density: DENSITY };
        let drawn =
            area.fill(&WHITE).and_then(|()| canvas.chart(self)).and_then(|()| area.present());
        drawn.map_err(|e| format!("{}: {e}", path.display()))
    }

    /// Least and greatest value that it shows.
    fn range(&self) -> (f64, f64) {
        let points = || self.series.iter().flat_map(|s| &s.points);
        let high = points().map(|p| p.high).fold(f64::MIN_POSITIVE, f64::max);
        let low = points().map(|p| p.low).filter(|y| *y > 0.0).fold(high, f64::min);
        if self.log { (low / 1.3, high * 1.3) } else { (0.0, high * 1.06) }
    }

    fn scale(&self) -> Scale {
        let (low, high) = self.range();
        Scale { low, high, log: self.log }
    }
}

/// The text's font, wherever the chart is drawn.
fn fonts() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for (style, bytes) in
            [(FontStyle::Normal, dejavu::sans::regular()), (FontStyle::Bold, dejavu::sans::bold())]
        {
            let known = plotters::style::register_font("sans-serif", style, bytes);
            assert!(known.is_ok(), "the font that is built in can be read");
        }
    });
}

/// Values to shares of the axis.
struct Scale {
    low: f64,
    high: f64,
    log: bool,
}

impl Scale {
    fn share(&self, value: f64) -> f64 {
        let value = value.clamp(self.low, self.high);
        match self.log {
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        }
    }

    /// Round values that divide the axis into a handful of parts.
    fn ticks(&self) -> Vec<f64> {
        if self.log {
            let decades = (self.high / self.low).log10();
            let steps: &[f64] = if decades > 2.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
            let first = self.low.log10().floor() as i32;
            let all =
                (first..first + 14).flat_map(|p| steps.iter().map(move |s| s * 10f64.powi(p)));
            return all.filter(|t| (self.low..=self.high).contains(t)).collect();
        }
        let rough = (self.high - self.low) / 5.0;
        let power = 10f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|s| s * power);
        let step = steps.into_iter().find(|s| *s >= rough).unwrap_or(10.0 * power);
        (0..12).map(|i| f64::from(i) * step).filter(|t| *t <= self.high).collect()
    }
}

fn tick(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        v if v >= 1e6 => format!("{} M", v / 1e6),
        v if v >= 10_000.0 => format!("{} k", v / 1000.0),
        v if (0.01..1.0).contains(&v) => format!("{v:.2}").trim_end_matches('0').to_owned(),
        v => format!("{}", (v * 100.0).round() / 100.0),
    }
}

/// An area to draw on in the page's pixels.
struct Canvas<'a, DB: DrawingBackend> {
    area: &'a DrawingArea<DB, Shift>,
    density: f64,
}

impl<DB: DrawingBackend> Canvas<'_, DB> {
    fn at(&self, x: f64, y: f64) -> (i32, i32) {
        ((x * self.density).round() as i32, (y * self.density).round() as i32)
    }

    fn text(&self, text: &str, x: f64, y: f64, look: &Look) -> Drawn<DB> {
        let style = if look.bold { FontStyle::Bold } else { FontStyle::Normal };
        let font = (FontFamily::SansSerif, look.size * self.density, style).into_font();
        let style: TextStyle = font.color(&look.colour.drawn()).into_text_style(self.area);
        let style = style.pos(Pos::new(look.side, VPos::Center));
        self.area.draw(&Text::new(text.to_owned(), self.at(x, y), style))
    }

    fn line(&self, points: &[(f64, f64)], colour: Colour, width: f64) -> Drawn<DB> {
        let points: Vec<(i32, i32)> = points.iter().map(|(x, y)| self.at(*x, *y)).collect();
        let width = (width * self.density).round().max(1.0) as u32;
        self.area.draw(&PathElement::new(points, colour.drawn().stroke_width(width)))
    }

    fn dashes(&self, points: &[(f64, f64)], colour: Colour, width: f64) -> Drawn<DB> {
        let (on, off) = (6.0, 4.0);
        let mut into = 0.0;
        for pair in points.windows(2) {
            let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
            let length = f64::hypot(x1 - x0, y1 - y0);
            let point = |at: f64| (x0 + (x1 - x0) * at / length, y0 + (y1 - y0) * at / length);
            let mut at = 0.0;
            while at < length {
                let phase: f64 = into % (on + off);
                let step = if phase < on { on - phase } else { on + off - phase };
                let end = (at + step.max(0.01)).min(length);
                if phase < on {
                    self.line(&[point(at), point(end)], colour, width)?;
                }
                into += end - at;
                at = end;
            }
        }
        Ok(())
    }

    fn chart(&self, chart: &Chart) -> Drawn<DB> {
        let mut y = 18.0;
        for line in wrapped(&chart.title, TITLE_LINE) {
            self.text(&line, 12.0, y, &Look { bold: true, size: 16.0, ..LABEL })?;
            y += TITLE_HEIGHT;
        }
        for line in wrapped(&chart.finding, LINE) {
            self.text(&line, 12.0, y, &Look { size: 12.5, ..LABEL })?;
            y += FINDING_HEIGHT;
        }
        match &chart.form {
            Form::Bars(groups) => self.bars(chart, groups),
            Form::Lines(places) => self.lines(chart, Some(places)),
            Form::Course => self.lines(chart, None),
        }
    }

    fn lines(&self, chart: &Chart, places: Option<&[String]>) -> Drawn<DB> {
        let (width, height) = (f64::from(WIDTH), f64::from(chart.height()));
        let (top, bottom) = (chart.top(), height - BOTTOM);
        let (left, right) = (LEFT, width - chart.names_width());
        let scale = chart.scale();
        let y = |value: f64| bottom - scale.share(value) * (bottom - top);
        self.text(&chart.value_label(), 12.0, top - 20.0, &SMALL)?;
        for value in scale.ticks() {
            self.line(&[(left, y(value)), (right, y(value))], GRID, 1.0)?;
            let look = Look { side: HPos::Right, ..SMALL };
            self.text(&tick(value), left - 8.0, y(value), &look)?;
        }
        let points = chart.series.iter().flat_map(|s| &s.points);
        let last = points.map(|p| p.x).fold(1.0, f64::max);
        let x = |value: f64| match places {
            // Half a place free at each side.
            Some(places) => left + (value + 0.5) / places.len() as f64 * (right - left),
            None => left + value / last * (right - left),
        };
        let centre = Look { side: HPos::Center, ..SMALL };
        match places {
            Some(places) => {
                for (i, place) in places.iter().enumerate() {
                    self.text(place, x(i as f64), bottom + 14.0, &centre)?;
                }
            }
            None => {
                for value in (Scale { low: 0.0, high: last, log: false }).ticks() {
                    self.text(&tick(value), x(value), bottom + 14.0, &centre)?;
                }
            }
        }
        self.text(&chart.x_label, f64::midpoint(left, right), bottom + 34.0, &centre)?;
        self.line(&[(left, bottom), (right, bottom)], MUTED, 1.0)?;
        if chart.ratio {
            self.line(&[(left, y(1.0)), (right, y(1.0))], MUTED, 1.0)?;
        }
        for series in chart.series.iter().filter(|_| places.is_none()) {
            self.band(series, &x, &y)?;
        }
        for (number, series) in chart.series.iter().enumerate() {
            // Ranges of different lines stand beside each other.
            let aside = if places.is_some() {
                (number as f64 - (chart.series.len() - 1) as f64 / 2.0) * 3.0
            } else {
                0.0
            };
            let place = |p: &Point| (x(p.x) + aside, y(p.y));
            let path: Vec<(f64, f64)> = series.points.iter().map(place).collect();
            match series.dashed {
                true => self.dashes(&path, series.colour, 1.6)?,
                false => {
                    self.line(&path, series.colour, if places.is_none() { 1.6 } else { 2.2 })?
                }
            }
            for point in series.points.iter().filter(|_| places.is_some()) {
                let (x, middle) = place(point);
                self.line(&[(x, y(point.low)), (x, y(point.high))], series.colour, 1.2)?;
                let filled = series.colour.drawn().filled();
                self.area.draw(&Circle::new(
                    self.at(x, middle),
                    (3.0 * self.density) as u32,
                    filled,
                ))?;
            }
        }
        self.names(chart, right + 10.0, &y)
    }

    /// What lies between the least and the greatest of a line.
    fn band(&self, series: &Series, x: &dyn Fn(f64) -> f64, y: &dyn Fn(f64) -> f64) -> Drawn<DB> {
        if series.points.iter().all(|point| point.low == point.high) {
            return Ok(());
        }
        let high = series.points.iter().map(|p| self.at(x(p.x), y(p.high)));
        let low = series.points.iter().rev().map(|p| self.at(x(p.x), y(p.low)));
        let outline: Vec<(i32, i32)> = high.chain(low).collect();
        self.area.draw(&Polygon::new(outline, series.colour.drawn().mix(BAND)))
    }

    /// Each line's name beside its end, no two on each other.
    fn names(&self, chart: &Chart, x: f64, y: &dyn Fn(f64) -> f64) -> Drawn<DB> {
        let mut names: Vec<(f64, &Series)> =
            chart.series.iter().filter_map(|s| Some((y(s.points.last()?.y), s))).collect();
        names.sort_by(|a, b| a.0.total_cmp(&b.0));
        let space = 15.0;
        for i in 1..names.len() {
            names[i].0 = names[i].0.max(names[i - 1].0 + space);
        }
        // What was pushed out at the bottom pushes the others up.
        let mut limit = f64::from(chart.height()) - BOTTOM + 8.0;
        for name in names.iter_mut().rev() {
            name.0 = name.0.min(limit);
            limit = name.0 - space;
        }
        for (y, series) in names {
            let bold = !series.dashed;
            self.text(&series.label, x, y, &Look { bold, colour: series.colour, ..SMALL })?;
        }
        Ok(())
    }

    fn bars(&self, chart: &Chart, groups: &[String]) -> Drawn<DB> {
        let (width, bottom) = (f64::from(WIDTH), f64::from(chart.height()) - BOTTOM);
        let (left, right) = (chart.bar_left(groups), width - 130.0);
        let scale = chart.scale();
        let plot_top = chart.top();
        let x = |value: f64| left + scale.share(value) * (right - left);
        let mut beside = left;
        for series in &chart.series {
            self.text(
                &series.label,
                beside,
                plot_top - 20.0,
                &Look { bold: true, colour: series.colour, ..SMALL },
            )?;
            beside += 24.0 + series.label.chars().count() as f64 * 8.0;
        }
        for value in scale.ticks() {
            self.line(&[(x(value), plot_top - 6.0), (x(value), bottom)], GRID, 1.0)?;
            let look = Look { side: HPos::Center, ..SMALL };
            self.text(&tick(value), x(value), bottom + 12.0, &look)?;
        }
        let look = Look { side: HPos::Center, ..SMALL };
        self.text(&chart.value_label(), f64::midpoint(left, right), bottom + 32.0, &look)?;
        let mut top = plot_top;
        for (g, group) in groups.iter().enumerate() {
            let group_height = chart.group_height(g);
            let middle = top + (group_height - GROUP_GAP) / 2.0;
            if chart.headings.contains(&g) {
                self.text(group, 12.0, middle, &Look { bold: true, size: 12.5, ..LABEL })?;
                top += group_height;
                continue;
            }
            let lines = wrapped(group, BAR_NAME);
            for (number, line) in lines.iter().enumerate() {
                let y = middle + 13.0 * (number as f64 - (lines.len() - 1) as f64 / 2.0);
                self.text(line, left - 10.0, y, &Look { side: HPos::Right, ..SMALL })?;
            }
            for (s, (series, point)) in chart.bars_of(g).enumerate() {
                let (y0, y1) = (top + s as f64 * BAR + 1.5, top + (s + 1) as f64 * BAR - 1.5);
                let filled = series.colour.drawn().filled();
                let corners = [self.at(left, y0), self.at(x(point.y), y1)];
                self.area.draw(&Rectangle::new(corners, filled))?;
                let y = f64::midpoint(y0, y1);
                self.line(&[(x(point.low), y), (x(point.high), y)], INK, 1.2)?;
                self.text(&short(point.y), x(point.high.max(point.y)) + 6.0, y, &SMALL)?;
            }
            top += group_height;
        }
        if chart.ratio {
            self.line(&[(x(1.0), plot_top - 6.0), (x(1.0), bottom)], MUTED, 1.5)?;
        }
        self.line(&[(left, plot_top - 6.0), (left, bottom)], MUTED, 1.0)
    }
}

/// Where bars with these names begin: behind the longest line of them.
pub fn bar_left(groups: &[String]) -> f64 {
    let lines = groups.iter().flat_map(|group| wrapped(group, BAR_NAME));
    let longest = lines.map(|line| line.chars().count()).max().unwrap_or(0);
    (24.0 + longest as f64 * CHARACTER).clamp(BAR_LEFT.0, BAR_LEFT.1)
}

/// Text in lines of at most so many characters, broken between words.
pub fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is one line at least");
        if last.is_empty() || last.chars().count() + 1 + word.chars().count() <= most {
            last.push_str(if last.is_empty() { "" } else { " " });
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// How text looks.
#[derive(Clone, Copy)]
struct Look {
    bold: bool,
    size: f64,
    colour: Colour,
    side: HPos,
}

const LABEL: Look = Look { bold: false, size: 13.0, colour: INK, side: HPos::Left };
const SMALL: Look = Look { bold: false, size: 12.0, colour: MUTED, side: HPos::Left };
