//! The page of a report in a real browser, if one is installed: it loads from disk, is searched, sorted and zoomed, and names do nothing.

mod installed;

use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// How many kernels the page has to cope with.
const KERNELS: usize = 10_000;

/// Names that would do something if they were taken for markup.
const HOSTILE: [&str; 5] = [
    "</script><script>window.alarm=1</script>",
    "<img src=x onerror=window.alarm=1>",
    "\"'><svg onload=window.alarm=1>",
    "new\nline\u{2028}\u{0}",
    "javascript:window.alarm=1//${window.alarm=1}",
];

fn browser() -> Option<&'static str> {
    const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
    let found =
        NAMES.into_iter().find(|name| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success()));
    if found.is_none() {
        assert!(std::env::var_os("REQUIRE_BROWSER").is_none(), "no browser is installed");
        installed::skip("no browser is installed");
    }
    found
}

/// A report with many kernels. The first calls a function that calls another, which forces its registers and its stack.
fn report() -> serde_json::Value {
    let function = |name: &str, kind: &str, index: usize| {
        serde_json::json!({
            "name": name, "demangled": name, "template": name, "kind": kind, "image": 0,
            "code": 128 * (index % 97 + 1), "registers": 16 + index % 240, "own_registers": 16 + index % 240, "stack": 0,
            "shared": 1024 * (index % 5), "warps": [16, 32, 64],
        })
    };
    let mut functions =
        vec![function("first kernel", "kernel", 9), function("between", "function", 0), function("hungry", "function", 239)];
    functions[0]["calls"] = serde_json::json!([1]);
    functions[1]["calls"] = serde_json::json!([2]);
    functions[0]["registers"] = 255.into();
    functions[0]["registers_path"] = serde_json::json!([0, 1, 2]);
    functions[1]["frame"] = 24.into();
    functions[0]["stack"] = 24.into();
    functions[0]["stack_path"] = serde_json::json!([0, 1]);
    functions.extend(HOSTILE.iter().enumerate().map(|(index, name)| function(name, "kernel", index)));
    functions.push(function("the needle in it", "kernel", 1));
    let count = functions.iter().filter(|function| function["kind"] == "kernel").count();
    functions.extend((count..KERNELS).map(|index| function(&format!("kernel_{}<{index}>", index % 37), "kernel", index)));
    let variable = serde_json::json!({"name": HOSTILE[0], "demangled": HOSTILE[1], "memory": "global", "bytes": 4, "image": 0});
    serde_json::json!({
        "schema": "cuweld-report", "version": 1, "tool": "a test",
        "files": [{"name": HOSTILE[0], "kind": HOSTILE[1], "bytes": 1, "device": 1, "container": 0, "problems": [HOSTILE[2]]}],
        "architectures": [{
            "name": "sm_90", "block_sizes": [64, 128, 256],
            "limits": {"warps": 64, "blocks": 32, "registers": 65536, "shared": 233472, "reserved_shared": 1024, "shared_unit": 128, "shared_per_block": 232448},
            "images": [{"file": 0, "member": HOSTILE[3], "stored": 1, "bytes": 1, "parts": {"code": 1, "constants": 0, "data": 0, "debug": 0, "mercury": 0, "symbols": 0, "relocations": 0, "attributes": 0, "other": 0}}],
            "functions": functions, "variables": [variable],
            "duplicates": [{"bytes": 128, "waste": 128, "functions": [3, 4]}],
            "link": {"inputs": [{"name": HOSTILE[1], "kept": 1, "removed": 2}], "removed": [{"name": "r", "demangled": HOSTILE[0], "input": 0, "bytes": 2, "reason": HOSTILE[4]}]},
        }],
    })
}

fn page(folder: &Path) -> String {
    fs::write(folder.join("report.json"), report().to_string()).expect("written");
    let made = Command::new(env!("CARGO_BIN_EXE_cuweld"))
        .current_dir(folder)
        .args(["report", "-o", "page.html", "report.json"])
        .output();
    let made = made.expect("the program runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    fs::read_to_string(folder.join("page.html")).expect("a page")
}

#[test]
fn a_browser_shows_the_page_and_names_do_nothing() {
    let Some(browser) = browser() else { return };
    let folder = TempDir::new().expect("a folder");
    let page = page(folder.path());
    let drive = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/browser/drive.js")).expect("a script");
    let driven = page.replace("</body>", &format!("<script>{drive}</script></body>"));
    fs::write(folder.path().join("driven.html"), driven).expect("written");
    for (width, height) in [(1440, 900), (1024, 768), (500, 844)] {
        let shown = Command::new(browser)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
            ])
            .args(["--disable-component-update", "--disable-sync", "--virtual-time-budget=60000", "--dump-dom"])
            .arg(format!("--user-data-dir={}", folder.path().join(format!("profile-{width}")).display()))
            .arg(format!("--window-size={width},{height}"))
            .arg(format!("file://{}", folder.path().join("driven.html").display()))
            .output()
            .expect("the browser runs");
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        let seen = shown
            .split_once("<pre id=\"seen\">")
            .and_then(|(_, rest)| rest.split_once("</pre>"))
            .expect("the script ran to its end")
            .0;
        let seen = seen.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
        check(&serde_json::from_str(&seen).expect("JSON"), width);
    }
}

fn check(seen: &serde_json::Value, width: u32) {
    let number = |name: &str| seen[name].as_u64().unwrap_or(u64::MAX);
    assert_eq!(seen["errors"], serde_json::json!([]), "{width}: {seen}");
    assert_eq!((number("alarm"), number("scripts"), number("images")), (0, 3, 0), "{seen}");
    assert_eq!(number("cards"), 6);
    assert_eq!((number("zoomed"), number("unzoomed")), (1, 0));
    assert!(seen["total"].as_str().is_some_and(|total| total.starts_with("10,000 kernels")), "{seen}");
    // Only what can be seen is drawn, however much there is.
    assert!((10..200).contains(&number("drawn")), "{seen}");
    assert_eq!((number("most"), number("least")), (255, 16));
    assert_eq!(seen["found"], serde_json::json!(["the needle in it"]));
    assert_eq!(seen["kernel"], "first kernel");
    assert!(seen["blame"][0].as_str().is_some_and(|chain| chain.contains("255 registershungry")), "{seen}");
    assert_eq!(number("tree"), 2);
    assert_eq!(seen["views"].as_array().map(Vec::len), Some(6));
}
