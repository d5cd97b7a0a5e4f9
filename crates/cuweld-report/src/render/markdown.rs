//! Reports and comparisons as Markdown, made to be a comment on a pull request.

use super::number::{bytes, count, percent, plural};
use super::sentences::{change, one_line, reasons};
use super::text::TextOptions;
use crate::compare::{ArchitectureChanges, Changed, Comparison, Total};
use crate::model::{Architecture, Function, Kind, Report};
use std::fmt::Write;

/// The most rows of a table: a comment has a limit, and readers have one, too.
const MOST: usize = 50;

/// Writes a report as Markdown.
#[must_use]
pub fn markdown(report: &Report, options: &TextOptions) -> String {
    let mut out = String::new();
    for file in &report.files {
        _ = writeln!(out, "**{}**: {}, of which device code {}", code(&file.name), bytes(file.bytes), bytes(file.device));
        for problem in &file.problems {
            _ = writeln!(out, "- not read: {}", plain(problem));
        }
        out.push('\n');
    }
    for architecture in &report.architectures {
        report_on(&mut out, architecture, options.most.unwrap_or(usize::MAX));
    }
    out
}

fn report_on(out: &mut String, architecture: &Architecture, most: usize) {
    let parts = architecture.parts();
    let shares = parts.named().into_iter().filter(|(_, size)| *size > 0);
    let shares: Vec<String> = shares.map(|(name, size)| format!("{name} {}", percent(size, parts.total()))).collect();
    let kernels = plural(architecture.kernels().count(), "kernel", "kernels");
    _ = writeln!(out, "### {}: {kernels}, {} unpacked\n\n{}\n", architecture.name, bytes(parts.total()), shares.join(", "));
    let mut sorted: Vec<(u32, &Function)> = architecture.kernels().collect();
    sorted.sort_by_key(|(index, kernel)| (std::cmp::Reverse(kernel.code), *index));
    if sorted.is_empty() {
        return;
    }
    out.push_str("| kernel | registers | stack | shared | code |\n|---|--:|--:|--:|--:|\n");
    for (_, kernel) in sorted.iter().take(most) {
        let stack = kernel.stack.map_or("unknown".to_owned(), count);
        let why: String = reasons(architecture, kernel).iter().map(|reason| format!("<br>{}", plain(reason))).collect();
        let name = code(&kernel.demangled);
        _ = writeln!(out, "| {name}{why} | {} | {stack} | {} | {} |", kernel.registers, bytes(kernel.shared), bytes(kernel.code));
    }
    if let Some(more) = sorted.len().checked_sub(most).filter(|more| *more > 0) {
        _ = writeln!(out, "\n... and {}", plural(more, "kernel more", "kernels more"));
    }
    out.push('\n');
}

/// Writes a comparison as Markdown.
#[must_use]
pub fn markdown_comparison(comparison: &Comparison) -> String {
    if comparison.is_empty() {
        return "### Device code\n\nNo kernel changed.\n".to_owned();
    }
    let mut out = String::from("### Device code\n\n");
    for changes in &comparison.architectures {
        compare_on(&mut out, changes);
    }
    out
}

fn compare_on(out: &mut String, changes: &ArchitectureChanges) {
    let worse = |changed: &&Changed| {
        changed.changes.iter().any(|change| change.what != crate::compare::Quantity::Code && change.is_worse())
    };
    let worse = changes.changed.iter().filter(worse).count();
    let mark = if worse > 0 { "🔺 " } else { "" };
    _ = writeln!(
        out,
        "#### {mark}{}: {} changed ({} for the worse), {} added, {} removed\n",
        changes.name,
        changes.changed.len(),
        worse,
        changes.added.len(),
        changes.removed.len()
    );
    let totals = changes.totals.iter().filter(|total| total.old != total.new);
    let totals: Vec<String> = totals.map(total).collect();
    if !totals.is_empty() {
        _ = writeln!(out, "{}\n", totals.join(" · "));
    }
    if !changes.changed.is_empty() {
        out.push_str("| function | change | because |\n|---|---|---|\n");
        for changed in changes.changed.iter().take(MOST) {
            row(out, changed);
        }
        more(out, changes.changed.len());
        out.push('\n');
    }
    for (word, entries) in [("added", &changes.added), ("removed", &changes.removed)] {
        if entries.is_empty() {
            continue;
        }
        _ = writeln!(out, "<details><summary>{} {word}</summary>\n", entries.len());
        for entry in entries.iter().take(MOST) {
            let kind = if entry.kind == Kind::Kernel { "" } else { " (function)" };
            _ = writeln!(out, "- {}{kind}: {} registers, {}", code(&entry.demangled), entry.registers, bytes(entry.code));
        }
        more(out, entries.len());
        out.push_str("\n</details>\n\n");
    }
}

fn row(out: &mut String, changed: &Changed) {
    let mut name = code(&changed.demangled);
    if let Some(old) = &changed.renamed_from {
        name.push_str(&format!("<br>was {}", code(old)));
    }
    let bold = |text: String, is_bold: bool| if is_bold { format!("**{text}**") } else { text };
    let numbers: Vec<String> = changed.changes.iter().map(|each| bold(change(each), each.is_worse())).collect();
    let because: Vec<String> = changed.changes.iter().filter_map(|change| change.because.as_deref().map(plain)).collect();
    _ = writeln!(out, "| {name} | {} | {} |", numbers.join("<br>"), because.join("<br>"));
}

fn total(total: &Total) -> String {
    let number = |value: u64| if total.what == "kernels" { count(value) } else { bytes(value) };
    format!("{} {} → {}", total.what, number(total.old), number(total.new))
}

fn more(out: &mut String, all: usize) {
    if let Some(more) = all.checked_sub(MOST).filter(|more| *more > 0) {
        _ = writeln!(out, "\n... and {more} more");
    }
}

/// A name as code, whatever is in it: as HTML, in which nothing but these few letters means anything.
fn code(text: &str) -> String {
    format!("<code>{}</code>", plain(text))
}

/// A text that means itself in a table of Markdown.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in one_line(text).chars() {
        match letter {
            '|' | '<' | '>' | '&' | '*' | '_' | '`' | '~' | '[' | ']' | '\\' | '!' | '#' | '@' | ':' => {
                out.push_str(&format!("&#{};", letter as u32))
            }
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{code, plain};

    #[test]
    fn names_are_no_markup() {
        assert_eq!(plain("a|b\n<script>"), "a&#124;b&#92;n&#60;script&#62;");
        assert_eq!(code("f(int *)"), "<code>f(int &#42;)</code>");
        assert_eq!(plain("@team ![x](y)"), "&#64;team &#33;&#91;x&#93;(y)");
    }
}
