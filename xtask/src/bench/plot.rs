//! Draws time against size as an SVG picture.

use std::fmt::{Display, Write};

use super::axes::Axis;
use super::results::{Measured, Outcome, Results, shown_count};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
/// Where the curves are, with room for labels around them.
const LEFT: f64 = 80.0;
const RIGHT: f64 = 615.0;
const TOP: f64 = 75.0;
const BOTTOM: f64 = 345.0;

/// Where a number is on an axis of the picture.
struct Scale {
    low: f64,
    high: f64,
    begin: f64,
    end: f64,
    /// Whether equal steps are equal factors.
    logarithmic: bool,
}

impl Scale {
    /// A scale of whole decades that has room for some numbers.
    fn decades(numbers: &[f64], begin: f64, end: f64) -> Self {
        let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
        let most = numbers.iter().copied().fold(0.0, f64::max);
        // A little tolerance, so that a decade's own number does not fall out of it by rounding.
        let (low, high) = ((least.log10() + 1e-9).floor(), (most.log10() - 1e-9).ceil());
        Scale { low: 10f64.powf(low), high: 10f64.powf(high.max(low + 1.0)), begin, end, logarithmic: true }
    }

    fn place(&self, number: f64) -> f64 {
        let part = if self.logarithmic {
            (number / self.low).log10() / (self.high / self.low).log10()
        } else {
            (number - self.low) / (self.high - self.low)
        };
        self.begin + part * (self.end - self.begin)
    }

    /// The numbers that get a line and a label.
    fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let decades = (self.high / self.low).log10().round() as i32;
            (0..=decades).map(|decade| self.low * 10f64.powi(decade)).collect()
        } else {
            (0..).map(|step| self.low + 5.0 * f64::from(step)).take_while(|tick| *tick <= self.high).collect()
        }
    }
}

/// One line of the picture.
struct Curve {
    name: String,
    colour: &'static str,
    dashed: bool,
    /// Size and seconds of each link that came to an end.
    points: Vec<(f64, f64)>,
    /// Where a program was stopped.
    stopped: Option<(f64, f64)>,
}

/// The picture of an axis; none if there is nothing to show.
pub fn draw(axis: &Axis, measured: &Measured, results: &Results) -> Option<String> {
    let curves = curves(measured, results);
    let sizes: Vec<f64> = measured.points.iter().map(|point| point.size as f64).collect();
    let all = || curves.iter().flat_map(|curve| curve.points.iter().chain(&curve.stopped));
    let seconds: Vec<f64> = all().map(|(_, seconds)| *seconds).collect();
    let (first, last) = (*sizes.first()?, *sizes.last()?);
    // Sizes that do not span a decade are no sizes but steps.
    let x = if last / first < 10.0 {
        Scale { low: first, high: last.max(first + 1.0), begin: LEFT, end: RIGHT, logarithmic: false }
    } else {
        Scale::decades(&sizes, LEFT, RIGHT)
    };
    let y = Scale::decades(&seconds, BOTTOM, TOP);
    let mut svg = Svg::new(axis.title);
    svg.frame(&x, &y, axis);
    for curve in &curves {
        svg.curve(curve, &x, &y);
    }
    svg.legend(&curves, results.limit);
    Some(svg.finish())
}

fn curves(measured: &Measured, results: &Results) -> Vec<Curve> {
    let mut curves = vec![Curve {
        name: "reading and writing".to_owned(),
        colour: "#888888",
        dashed: true,
        points: measured.points.iter().map(|point| (point.size as f64, point.floor)).filter(|(_, floor)| *floor > 0.0).collect(),
        stopped: None,
    }];
    let limit = results.limit as f64;
    let mut add = |name: &str, colour, outcomes: Vec<(f64, Outcome)>| {
        let points: Vec<_> = outcomes.iter().filter_map(|(size, outcome)| Some((*size, outcome.seconds()?))).collect();
        let stopped = outcomes.iter().find(|(_, outcome)| *outcome == Outcome::Stopped).map(|(size, _)| (*size, limit));
        if !points.is_empty() || stopped.is_some() {
            curves.push(Curve { name: name.to_owned(), colour, dashed: false, points, stopped });
        }
    };
    let sizes = || measured.points.iter();
    if let Some(other) = &results.other {
        add(other, "#d95f02", sizes().map(|point| (point.size as f64, point.other)).collect());
    }
    add(&results.ours, "#1f5fbf", sizes().map(|point| (point.size as f64, point.ours)).collect());
    curves
}

/// A picture that is being drawn.
struct Svg {
    text: String,
}

impl Svg {
    fn new(title: &str) -> Self {
        let mut svg = Svg { text: String::new() };
        svg.add(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             role=\"img\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#333333\">"
        ));
        svg.add(format_args!("<title>{}: time of a link</title>", escaped(title)));
        svg.add("<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>");
        svg.label((LEFT + RIGHT) / 2.0, 28.0, "middle", &format!("{}: time of a link", escaped(title)), " font-size=\"16\"");
        svg
    }

    fn add(&mut self, element: impl Display) {
        _ = writeln!(self.text, "{element}");
    }

    fn label(&mut self, x: f64, y: f64, anchor: &str, text: &str, more: &str) {
        self.add(format_args!("<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\"{more}>{text}</text>"));
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), style: &str) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.add(format_args!("<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" {style}/>"));
    }

    /// The grid with its numbers.
    fn frame(&mut self, x: &Scale, y: &Scale, axis: &Axis) {
        const GRID: &str = "stroke=\"#dddddd\"";
        for tick in x.ticks() {
            let place = x.place(tick);
            self.line((place, TOP), (place, BOTTOM), GRID);
            self.label(place, BOTTOM + 18.0, "middle", &shown_count(tick.round() as usize), "");
        }
        for tick in y.ticks() {
            let place = y.place(tick);
            self.line((LEFT, place), (RIGHT, place), GRID);
            self.label(LEFT - 8.0, place + 4.0, "end", &shown_decade(tick), "");
        }
        self.label((LEFT + RIGHT) / 2.0, BOTTOM + 40.0, "middle", &escaped(axis.counts), "");
    }

    /// A line with a dot for each link, and a hollow triangle where a program was stopped.
    fn curve(&mut self, curve: &Curve, x: &Scale, y: &Scale) {
        let colour = curve.colour;
        let places: Vec<(f64, f64)> = curve.points.iter().map(|(size, seconds)| (x.place(*size), y.place(*seconds))).collect();
        let corners: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let (width, dashes) = if curve.dashed { (1, " stroke-dasharray=\"4 3\"") } else { (2, "") };
        let corners = corners.join(" ");
        self.add(format_args!(
            "<polyline points=\"{corners}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"{dashes}/>"
        ));
        if !curve.dashed {
            for (x, y) in &places {
                self.add(format_args!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"{colour}\"/>"));
            }
        }
        if let Some((size, limit)) = curve.stopped {
            let place = (x.place(size), y.place(limit));
            if let Some(last) = places.last() {
                self.line(*last, place, &format!("stroke=\"{colour}\" stroke-width=\"2\" stroke-dasharray=\"2 4\""));
            }
            self.triangle(place, colour);
        }
    }

    fn triangle(&mut self, (x, y): (f64, f64), colour: &str) {
        let corners = [(x - 5.0, y + 4.0), (x + 5.0, y + 4.0), (x, y - 6.0)].map(|(x, y)| format!("{x:.1},{y:.1}")).join(" ");
        self.add(format_args!("<polygon points=\"{corners}\" fill=\"#ffffff\" stroke=\"{colour}\" stroke-width=\"2\"/>"));
    }

    /// What the lines are, in a row above them.
    fn legend(&mut self, curves: &[Curve], limit: u64) {
        const SAMPLE: f64 = 24.0;
        const GAP: f64 = 8.0;
        // About as wide as a letter is.
        const LETTER: f64 = 6.3;
        let (mut left, line) = (LEFT - 10.0, TOP - 18.0);
        let mut name = |svg: &mut Svg, text: &str| {
            svg.label(left + SAMPLE + GAP, line + 4.0, "start", &escaped(text), "");
            let begin = left;
            left += SAMPLE + GAP + LETTER * text.len() as f64 + GAP;
            begin
        };
        // The one that is measured is drawn last, on top of the others, and named first.
        for curve in curves.iter().rev() {
            let begin = name(self, &curve.name);
            let dashes = if curve.dashed { " stroke-dasharray=\"4 3\"" } else { "" };
            let style = format!("stroke=\"{}\" stroke-width=\"2\"{dashes}", curve.colour);
            self.line((begin, line), (begin + SAMPLE, line), &style);
        }
        if let Some(curve) = curves.iter().find(|curve| curve.stopped.is_some()) {
            let begin = name(self, &format!("stopped after {limit} s"));
            self.triangle((begin + SAMPLE / 2.0, line), curve.colour);
        }
    }

    fn finish(mut self) -> String {
        self.add("</svg>");
        self.text
    }
}

/// A power of ten of seconds, for people.
fn shown_decade(seconds: f64) -> String {
    match seconds.log10().round() as i32 {
        exponent @ ..-3 => format!("{} µs", shown_count(10usize.pow((exponent + 6).max(0) as u32))),
        exponent @ -3..0 => format!("{} ms", 10usize.pow((exponent + 3) as u32)),
        exponent => format!("{} s", 10usize.pow(exponent as u32)),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_have_whole_decades() {
        let scale = Scale::decades(&[10.0, 100_000.0], 0.0, 400.0);
        assert_eq!(scale.ticks().len(), 5);
        assert!((scale.place(1000.0) - 200.0).abs() < 1e-6);
        let one_number = Scale::decades(&[0.002], 0.0, 100.0);
        assert_eq!(one_number.ticks().iter().map(|tick| shown_decade(*tick)).collect::<Vec<_>>(), ["1 ms", "10 ms"]);
    }

    #[test]
    fn decades_of_time_have_names() {
        assert_eq!([1e-5, 1e-4, 1e-3, 0.1, 1.0, 10.0].map(shown_decade), ["10 µs", "100 µs", "1 ms", "100 ms", "1 s", "10 s"]);
    }
}
