//! How long a report's page takes in a browser, if one is installed: until it is loaded, for the table of kernels, a sort and a search.

use crate::bench::inputs::failed;
use serde::Deserialize;
use std::fmt;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// What the script in the page has measured, in milliseconds.
#[derive(Deserialize)]
pub(super) struct Times {
    loaded: f64,
    listed: f64,
    sorted: f64,
    searched: f64,
    /// How many kernels the table has, in words.
    rows: String,
}

impl fmt::Display for Times {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Times { loaded, listed, sorted, searched, rows } = self;
        write!(
            out,
            "page: loaded in {loaded:.0} ms; table of {rows} in {listed:.0}, sorted in {sorted:.0}, searched in {searched:.0}"
        )
    }
}

/// Makes the page of a file in a folder, and shows it; none if there is no browser.
pub(super) fn times(program: &Path, file: &Path, work: &Path) -> Result<Option<Times>, String> {
    let is_there = |name: &&str| {
        Command::new(name)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    let Some(browser) = NAMES.into_iter().find(is_there) else { return Ok(None) };
    let work = std::path::absolute(work).map_err(failed(work))?;
    let page = work.join("page.html");
    let made = Command::new(program).args(["report", "-o"]).arg(&page).arg(file).status().map_err(failed(program))?;
    let text = fs::read_to_string(&page).map_err(failed(&page))?;
    let (start, end) = text.rsplit_once("</body>").filter(|_| made.success()).ok_or("there is no page")?;
    fs::write(&page, [start, "<script>", include_str!("../../../tests/browser/times.js"), "</script></body>", end].concat())
        .map_err(failed(&page))?;
    let shown = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync", "--dump-dom"])
        .arg(format!("--user-data-dir={}", work.join("profile").display()))
        .arg(format!("file://{}", page.display()))
        .stderr(Stdio::null())
        .output()
        .map_err(failed(Path::new(browser)))?;
    let shown = String::from_utf8_lossy(&shown.stdout);
    let seen =
        shown.rsplit_once("<pre id=\"seen\">").and_then(|(_, rest)| rest.split_once("</pre>")).ok_or("the page does not load")?.0;
    serde_json::from_str(seen).map(Some).map_err(|error| format!("the page's times: {error}"))
}
