//! Comparisons as text, as JSON and as an HTML page.

use super::html::escaped;
use super::number::{bytes, count, plural};
use super::sentences::{change, one_line};
use crate::compare::{ArchitectureChanges, Changed, Comparison, Total};
use std::fmt::Write;

const STYLE: &str = include_str!("page/page.css");

/// Writes a comparison as text, for a terminal.
#[must_use]
pub fn text_comparison(comparison: &Comparison) -> String {
    if comparison.is_empty() {
        return "No function changed.\n".to_owned();
    }
    let mut out = String::new();
    for changes in &comparison.architectures {
        let ArchitectureChanges { name, added, removed, changed, unchanged, .. } = changes;
        _ = writeln!(
            out,
            "{name}: {} changed, {} added, {} removed, {} as before",
            changed.len(),
            added.len(),
            removed.len(),
            count(*unchanged as u64)
        );
        for total in changes.totals.iter().filter(|total| total.old != total.new) {
            _ = writeln!(out, "  {}", of_total(total));
        }
        for changed in changed {
            _ = writeln!(out, "\n  {}", one_line(&changed.demangled));
            if let Some(old) = &changed.renamed_from {
                _ = writeln!(out, "    was {}", one_line(old));
            }
            for each in &changed.changes {
                let because = each.because.as_ref().map(|because| format!(": {}", one_line(because))).unwrap_or_default();
                _ = writeln!(out, "    {}{because}", change(each));
            }
        }
        for (sign, entries) in [("+", added), ("-", removed)] {
            for entry in entries {
                let (registers, size) = (entry.registers, bytes(entry.code));
                _ = writeln!(out, "  {sign} {} ({registers} registers, {size})", one_line(&entry.demangled));
            }
        }
        out.push('\n');
    }
    out
}

fn of_total(total: &Total) -> String {
    let number = |value: u64| if total.what == "kernels" { count(value) } else { bytes(value) };
    format!("{}: {} -> {}", total.what, number(total.old), number(total.new))
}

/// Writes a comparison as JSON, on one line.
#[must_use]
pub fn json_comparison(comparison: &Comparison) -> String {
    serde_json::to_string(comparison).map(|text| text + "\n").unwrap_or_default()
}

/// Writes a comparison as a page without a script.
#[must_use]
pub fn html_comparison(comparison: &Comparison) -> String {
    let title = format!("{} → {}", comparison.old.join(", "), comparison.new.join(", "));
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>{0}</title>\n<style>\n{1}\n\
         h2 {{ text-transform: none; }} .card b {{ font-size: 17px; }} table.plain td {{ line-height: 22px; }}\n\
         @media (prefers-color-scheme: dark) {{ :root {{ --bg: #0f141b; --card: #171e27; --ink: #e6ebf1; --soft: #94a3b5; --line: #2a3442; --good: #5cc98d; --bad: #ff8a80; color-scheme: dark; }} }}\n\
         </style>\n</head>\n<body>\n<main>\n<h1>{0}</h1>\n",
        escaped(&title),
        STYLE
    );
    for changes in &comparison.architectures {
        page_part(&mut out, changes);
    }
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// A row of the table of functions that changed.
fn changed_row(out: &mut String, changed: &Changed) {
    let was =
        changed.renamed_from.as_ref().map(|old| format!("<div class=\"soft\">was {}</div>", escaped(old))).unwrap_or_default();
    let numbers: String = changed
        .changes
        .iter()
        .map(|each| {
            let class = if each.is_worse() { "up" } else { "down" };
            format!("<div class=\"{class}\">{}</div>", escaped(&change(each)))
        })
        .collect();
    let because: String = changed
        .changes
        .iter()
        .map(|each| format!("<div>{}&nbsp;</div>", escaped(each.because.as_deref().unwrap_or(""))))
        .collect();
    _ = writeln!(
        out,
        "<tr><td class=\"mono\">{}{was}</td><td>{numbers}</td><td class=\"mono\">{because}</td></tr>",
        escaped(&changed.demangled)
    );
}

fn page_part(out: &mut String, changes: &ArchitectureChanges) {
    let cards = changes.totals.iter().filter(|total| total.old != total.new).map(|total| {
        let class = if total.new > total.old { "up" } else { "down" };
        format!(
            "<div class=\"card\"><b class=\"{class}\">{}</b><span>{}</span></div>",
            escaped(of_total(total).split_once(": ").map_or("", |(_, rest)| rest)),
            total.what
        )
    });
    _ = write!(
        out,
        "<h2>{}: {} changed, {} as before</h2>\n<div class=\"cards\">{}</div>\n",
        escaped(&changes.name),
        changes.changed.len(),
        count(changes.unchanged as u64),
        cards.collect::<String>()
    );
    if !changes.changed.is_empty() {
        out.push_str("<div class=\"panel\"><table class=\"plain\"><thead><tr><th>function</th><th>change</th><th>because</th></tr></thead><tbody>\n");
        changes.changed.iter().for_each(|changed| changed_row(out, changed));
        out.push_str("</tbody></table></div>\n");
    }
    for (word, entries) in [("added", &changes.added), ("removed", &changes.removed)] {
        if !entries.is_empty() {
            _ = writeln!(
                out,
                "<h2>{} {word}</h2>\n<div class=\"panel\"><table class=\"plain\"><tbody>",
                plural(entries.len(), "function", "functions")
            );
            for entry in entries {
                _ = writeln!(
                    out,
                    "<tr><td class=\"mono\">{}</td><td class=\"num\">{} registers</td><td class=\"num\">{}</td></tr>",
                    escaped(&entry.demangled),
                    entry.registers,
                    bytes(entry.code)
                );
            }
            out.push_str("</tbody></table></div>\n");
        }
    }
}
