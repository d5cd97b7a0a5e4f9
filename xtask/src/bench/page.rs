//! Writes the pictures, and the tables of the page that shows them.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::axes::AXES;
use super::inputs::failed;
use super::plot;
use super::results::{Measured, Outcome, Point, Results, shown_bytes, shown_count, shown_seconds};

/// What is between these two lines of the page is written here; the rest by people.
const BEGIN: &str = "<!-- figures: begin -->\n";
const END: &str = "<!-- figures: end -->\n";

/// Draws a picture of each axis into `folder`, and fills in the page of the same name beside it (`folder.md`), if there is one.
pub fn write(results: &Results, folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(failed(folder))?;
    let pictures = folder.file_name().unwrap_or_default().to_string_lossy();
    let mut figures = introduction(results);
    for measured in &results.axes {
        let Some(axis) = AXES.iter().find(|axis| axis.name == measured.name) else { continue };
        let Some(picture) = plot::draw(axis, measured, results) else { continue };
        let path = folder.join(format!("{}.svg", axis.name));
        fs::write(&path, picture).map_err(failed(&path))?;
        _ = write!(
            figures,
            "\n## {}\n\n{}\n\n![{}: time of a link]({pictures}/{}.svg)\n\n{}",
            axis.title,
            axis.programs,
            axis.title,
            axis.name,
            table(axis.counts, measured, results)
        );
    }
    let page = folder.with_extension("md");
    let Ok(text) = fs::read_to_string(&page) else { return Ok(()) };
    let parts = text.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = parts.ok_or_else(|| format!("{}: the lines between which figures go are missing", page.display()))?;
    fs::write(&page, format!("{before}{BEGIN}{figures}{END}{after}")).map_err(failed(&page))
}

/// What was measured, and on what.
fn introduction(results: &Results) -> String {
    let compared = results.other.as_ref().map_or(String::new(), |other| format!(" and {other}"));
    format!(
        "Measured: {}{compared}, on a machine with {} processors ({}).\nEach time is the best of {} runs, or of one if that took long. \
         What took more than {} s was stopped.\n",
        results.ours, results.machine.processors, results.machine.system, results.repetitions, results.limit
    )
}

/// The figures of an axis.
fn table(counts: &str, measured: &Measured, results: &Results) -> String {
    let ours = &results.ours;
    let mut text = match &results.other {
        Some(other) => {
            format!("| {counts} | {ours} | {other} | | memory, {ours} | {other} | reading and writing alone | same bytes |\n")
        }
        None => format!("| {counts} | {ours} | memory | reading and writing alone |\n"),
    };
    let columns = if results.other.is_some() { 8 } else { 4 };
    _ = writeln!(text, "|{}", "---:|".repeat(columns));
    for point in &measured.points {
        let size = shown_count(point.size);
        let floor = shown_seconds(point.floor);
        let (time, memory) = (time(point.ours, results.limit), memory(point.ours));
        _ = match &results.other {
            Some(_) => writeln!(
                text,
                "| {size} | {time} | {} | {} | {memory} | {} | {floor} | {} |",
                self::time(point.other, results.limit),
                factor(point),
                self::memory(point.other),
                same(point)
            ),
            None => writeln!(text, "| {size} | {time} | {memory} | {floor} |"),
        };
    }
    text
}

/// How long a program took.
pub fn time(outcome: Outcome, limit: u64) -> String {
    match outcome {
        Outcome::Finished { seconds, .. } => shown_seconds(seconds),
        Outcome::Stopped => format!("more than {limit} s"),
        Outcome::Failed => "failed".to_owned(),
        Outcome::Skipped => String::new(),
    }
}

/// The most memory that a program had.
pub fn memory(outcome: Outcome) -> String {
    match outcome {
        Outcome::Finished { peak_bytes, .. } => shown_bytes(peak_bytes),
        Outcome::Stopped | Outcome::Failed | Outcome::Skipped => String::new(),
    }
}

/// How many times faster we are.
pub fn factor(point: &Point) -> String {
    match (point.ours.seconds(), point.other.seconds()) {
        (Some(ours), Some(other)) if ours > 0.0 => {
            let factor = other / ours;
            format!("{factor:.*} ×", usize::from(factor < 100.0))
        }
        _ => String::new(),
    }
}

/// Whether both programs made the same file.
pub fn same(point: &Point) -> &'static str {
    match point.same {
        Some(true) => "yes",
        Some(false) => "no",
        None => "",
    }
}
