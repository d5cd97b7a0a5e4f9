//! Rules about the project's own files that no compiler checks.

use cuweld::imitations::Imitation;
use cuweld::release::{Release, Tool, ToolBuild};
use cuweld::target::Target;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    here.canonicalize().unwrap_or(here)
}

/// Every file of the project that a person writes, by its path from the root.
fn files() -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            if path.is_dir() {
                if !["target", ".git", ".work", "corpus", "artifacts", "inputs", "expected"]
                    .iter()
                    .any(|skipped| name == *skipped)
                {
                    folders.push(path);
                }
            } else if name != ".git"
                && let Ok(short) = path.strip_prefix(root())
            {
                found.push(short.to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}

fn sources() -> impl Iterator<Item = String> {
    files().into_iter().filter(|path| path.ends_with(".rs"))
}

/// The text of a file; none for what is not text.
fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_default()
}

fn assert_none(problems: &[String]) {
    assert!(problems.is_empty(), "\n  {}", problems.join("\n  "));
}

/// Nobody reads a file of thousands of lines to the end.
#[test]
fn files_are_short() {
    const MOST: usize = 600;
    /// Tables may be longer: they are looked things up in, not read.
    const TABLES: &[(&str, &str)] = &[];
    let problems: Vec<String> = sources()
        .filter(|path| !TABLES.iter().any(|(table, _)| table == path))
        .filter_map(|path| {
            let lines = text(&path).lines().count();
            (lines > MOST).then(|| format!("{path} has {lines} lines, more than {MOST}"))
        })
        .collect();
    assert_none(&problems);
}

/// A function is one idea.
#[test]
fn functions_are_short() {
    const MOST: usize = 60;
    let mut problems = Vec::new();
    for path in sources() {
        for (name, lines) in functions(&text(&path)) {
            if lines > MOST {
                problems.push(format!("{path}: {name} has {lines} lines, more than {MOST}"));
            }
        }
    }
    assert_none(&problems);
}

/// The functions of a source file, and how many lines each has. Sources are formatted: a function ends with a brace below its start.
fn functions(text: &str) -> Vec<(&str, usize)> {
    const MODIFIERS: &[&str] = &["pub", "const", "async", "unsafe", "default", "extern", "\"C\""];
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let Some((before, after)) = code.split_once("fn ").filter(|_| !code.starts_with("//")) else { continue };
        // Visibility may name a path: `pub(in crate::phases) fn`.
        let before = before.strip_prefix("pub(").and_then(|rest| rest.split_once(')')).map_or(before, |(_, rest)| rest);
        let is_item = before.split_whitespace().all(|word| MODIFIERS.contains(&word));
        let indent = &line[..line.len() - code.len()];
        let ends = |line: &&str| line.strip_prefix(indent).is_some_and(|rest| rest == "}");
        if let (true, Some(length)) = (is_item && !code.ends_with([';', '}']), lines[start..].iter().position(ends)) {
            found.push((after.split(['(', '<']).next().unwrap_or_default(), length + 1));
        }
    }
    found
}

/// A name that fits everything says nothing.
#[test]
fn modules_have_names_that_say_something() {
    const EMPTY: &[&str] = &["utils", "util", "misc", "common", "helpers", "helper", "stuff", "tools"];
    let says_nothing = |path: &String| {
        let parts = Path::new(path).components().map(|part| part.as_os_str().to_string_lossy().into_owned());
        parts.into_iter().any(|part| EMPTY.contains(&part.trim_end_matches(".rs")))
    };
    let problems: Vec<String> = sources().filter(says_nothing).collect();
    assert_none(&problems);
}

/// Several tables have rows, and many things have forms: the name of a type says of what.
#[test]
fn types_have_names_of_their_own() {
    const EMPTY: [&str; 4] = ["Row", "Form", "Thing", "Data"];
    let mut problems = Vec::new();
    for path in sources() {
        for (index, line) in text(&path).lines().enumerate() {
            let words: Vec<&str> = line.split(|letter: char| !letter.is_alphanumeric()).collect();
            let is_empty = |pair: &[&str]| ["struct", "enum", "type"].contains(&pair[0]) && EMPTY.contains(&pair[1]);
            if !line.trim_start().starts_with("//") && words.windows(2).any(is_empty) {
                problems.push(format!("{path}:{}: {}", index + 1, line.trim()));
            }
        }
    }
    assert_none(&problems);
}

/// Which crates of the project a crate may build on. A crate that is not listed must be added here.
const LAYERS: &[(&str, &[&str])] = &[
    ("cubin", &[]),
    ("fatbin", &["cubin"]),
    ("cuweld", &["cubin", "fatbin"]),
    ("cubin-diff", &["cubin"]),
    ("cuweld-host-object", &["cubin"]),
    ("cuweld-device-link", &["cubin", "fatbin", "cuweld", "cuweld-host-object"]),
    ("cuweld-toolkit", &["cuweld"]),
    ("cuweld-report", &["cubin", "fatbin", "cuweld"]),
    (
        "cuweld-cli",
        &[
            "cubin",
            "cubin-diff",
            "fatbin",
            "cuweld",
            "cuweld-device-link",
            "cuweld-host-object",
            "cuweld-report",
            "cuweld-toolkit",
        ],
    ),
    ("nvjitlink", &["cubin", "fatbin", "cuweld", "cuweld-toolkit"]),
];

/// Dependencies run one way.
#[test]
fn crates_keep_their_layers() -> Result<(), toml::de::Error> {
    let mut problems = Vec::new();
    for path in files().into_iter().filter(|path| path.starts_with("crates/") && path.ends_with("/Cargo.toml")) {
        let manifest: toml::Table = toml::from_str(&text(&path))?;
        let name = Path::new(&path).parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
        let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| *layer == name) else {
            problems.push(format!("{path}: the crate {name} has no place among the layers"));
            continue;
        };
        for dependency in manifest.get("dependencies").and_then(|table| table.as_table()).into_iter().flat_map(toml::Table::keys)
        {
            let ours = LAYERS.iter().any(|(layer, _)| layer == dependency);
            if ours && !allowed.contains(&dependency.as_str()) {
                problems.push(format!("{path}: {name} must not build on {dependency}"));
            }
        }
    }
    assert_none(&problems);
    Ok(())
}

/// Where code the compiler can not vouch for may stand, and why.
const UNSAFE: &[(&str, &str)] = &[
    ("crates/cuweld-cli/src/bytes.rs", "maps input files, and handles the signal that a map can cause"),
    ("crates/cuweld-cli/src/beside.rs", "names a file that had no name, swaps two names, and handles a signal"),
    ("crates/cuweld-cli/src/options/text.rs", "asks Windows for texts in its code page"),
    ("crates/cuweld-cli/src/start.rs", "is the function that a program begins with"),
    ("crates/cuweld-cli/src/streams.rs", "looks which streams are closed, before anything else is opened"),
    ("crates/cuweld-cli/src/blocks.rs", "copies and compares memory where the C library takes long"),
    ("crates/cuweld-cli/src/resources/", "is the heap, and asks the system for huge pages"),
    ("crates/cuweld-toolkit/src/library.rs", "calls a C library"),
    ("crates/nvjitlink/", "a C interface"),
    ("examples/build_script/", "calls a function of C"),
    ("examples/with_cc/", "calls a function of C"),
    ("xtask/src/bench/measure.rs", "asks the system how much memory a process had"),
];

#[test]
fn unsafe_code_is_where_it_may_be() {
    // The word is written this way so that this file is not one of those it looks for.
    let word = ["un", "safe "].concat();
    let problems: Vec<String> = sources()
        .filter(|path| !UNSAFE.iter().any(|(allowed, _)| path.starts_with(allowed)))
        .filter(|path| text(path).lines().any(|line| line.contains(&word) && !line.trim_start().starts_with("//")))
        .map(|path| format!("{path} has code that the compiler can not vouch for"))
        .collect();
    assert_none(&problems);
}

/// A description that names what is not there is worse than none.
#[test]
fn the_design_describes_what_is_there() {
    let is_path = |word: &&str| word.contains('/') && !word.contains([' ', '*', ':', '{', '<', '$']) && !word.starts_with('-');
    let mut problems = Vec::new();
    for page in ["DESIGN.md", "docs/differences.md"] {
        let text = text(page);
        let paths = text.split('`').skip(1).step_by(2).filter(is_path).filter(|path| !root().join(path).exists());
        problems.extend(paths.map(|path| format!("{page} names {path}, which does not exist")));
    }
    let design = text("DESIGN.md");
    for phase in phases() {
        if !design.contains(&format!("**{phase}**")) {
            problems.push(format!("DESIGN.md does not describe the phase {phase}"));
        }
    }
    assert_none(&problems);
}

/// What the reference is imitated in is what the page of differences says, row by row.
#[test]
fn every_imitation_is_listed() {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let page = text("docs/differences.md");
    let list = page.split_once("\n## Defects that are imitated").map(|(_, rest)| rest.split("\n## ").next().unwrap_or(rest));
    let listed: BTreeSet<String> = list.unwrap_or_default().split("\n- ").skip(1).map(words).collect();
    let expected: BTreeSet<String> = Imitation::ALL.iter().map(|imitation| words(&imitation.to_string())).collect();
    let missing = expected.difference(&listed).map(|row| format!("docs/differences.md lacks: - {row}"));
    let mut problems: Vec<String> =
        missing.chain(listed.difference(&expected).map(|row| format!("docs/differences.md has: - {row}"))).collect();
    for case in Imitation::ALL.iter().flat_map(|imitation| imitation.row().cases) {
        if !root().join("tests/cases").join(case).exists() {
            problems.push(format!("an imitation names the case {case}, which does not exist"));
        }
    }
    assert_none(&problems);
}

/// The phases, as the pipeline names them.
fn phases() -> BTreeSet<String> {
    let pipeline = text("crates/cuweld/src/link.rs");
    let names = text("crates/cuweld/src/observer.rs");
    let name = |phase: &str| names.split(&format!("    {phase} \"")).nth(1)?.split('"').next().map(str::to_owned);
    pipeline.split(".phase(Phase::").skip(1).filter_map(|rest| name(rest.split(',').next()?)).collect()
}

/// A phase reads what earlier phases found out.
#[test]
fn phases_do_not_look_ahead() {
    /// What one phase may know of a later one, and why.
    const EXCEPTIONS: &[(&str, &str)] = &[("info", "number")]; // Records are written when the numbers are known that they hold.
    let pipeline = text("crates/cuweld/src/link.rs");
    let mut order: Vec<&str> = Vec::new();
    for call in pipeline.split("::").zip(pipeline.split("::").skip(1)).filter(|(_, called)| called.contains('(')) {
        let name = call.0.rsplit(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or_default();
        let is_phase = ["", "/mod"].iter().any(|end| root().join(format!("crates/cuweld/src/phases/{name}{end}.rs")).exists());
        // One that is called several times has its place where it is called last.
        if is_phase {
            order.retain(|known| *known != name);
            order.push(name);
        }
    }
    assert!(order.len() > 15, "the phases were not found: {order:?}");
    let mut problems = Vec::new();
    for path in sources() {
        let Some(rest) = path.strip_prefix("crates/cuweld/src/phases/") else { continue };
        let phase = rest.split(['/', '.']).next().unwrap_or_default();
        let Some(place) = order.iter().position(|name| *name == phase) else { continue };
        // Above a phase are all phases, if the file is the phase's own; in its folder, that is the phase.
        let is_own_file = rest == format!("{phase}.rs") || rest == format!("{phase}/mod.rs");
        let prefixes: &[&str] = if is_own_file { &["phases::", "super::"] } else { &["phases::", "super::super::"] };
        let code: String = text(&path).lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        for mention in prefixes.iter().flat_map(|prefix| code.split(prefix).skip(1)) {
            let named = match mention.strip_prefix('{') {
                Some(group) => group.split('}').next().unwrap_or_default(),
                None => mention.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or_default(),
            };
            for used in named.split(',').filter_map(|name| name.trim().split(':').next()) {
                let is_later = order.iter().position(|name| *name == used).is_some_and(|other| other > place);
                if is_later && !EXCEPTIONS.contains(&(phase, used)) {
                    problems.push(format!("{path}: {phase} comes before {used}"));
                }
            }
        }
    }
    assert_none(&problems);
}

#[test]
fn every_source_file_begins_with_what_it_is_for() {
    let problems: Vec<String> = sources().filter(|path| !text(path).starts_with("//!")).collect();
    assert_none(&problems);
}

/// A name means one thing in the linker: who reads it need not ask which.
#[test]
fn public_names_are_unique() {
    /// What a phase reads has this name in every phase.
    const SAME_EVERYWHERE: &[&str] = &["Facts"];
    let mut known = BTreeSet::new();
    let mut problems = Vec::new();
    for path in sources().filter(|path| path.starts_with("crates/cuweld/src/")) {
        for line in text(&path).lines() {
            let item =
                ["struct ", "enum ", "trait ", "type "].iter().find_map(|kind| line.strip_prefix("pub ")?.strip_prefix(kind));
            let name =
                item.map(|item| item.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default().to_owned());
            let Some(name) = name.filter(|name| !SAME_EVERYWHERE.contains(&name.as_str())) else { continue };
            if !known.insert(name.clone()) {
                problems.push(format!("{path}: there is another {name}"));
            }
        }
    }
    assert_none(&problems);
}

/// The pipeline is one function that fits on a screen or two.
#[test]
fn the_pipeline_is_short() {
    let lines = text("crates/cuweld/src/link.rs").lines().count();
    assert!(lines <= 120, "crates/cuweld/src/link.rs has {lines} lines");
    assert!(phases().len() >= 10, "the phases were not found: {:?}", phases());
}

/// The project speaks of itself, and of nothing that only its makers have.
#[test]
fn nothing_private_is_mentioned() {
    // In two parts, so that this list is not found by itself.
    let words: Vec<String> = [
        ["/wo", "rk/"],
        ["../sha", "red"],
        ["sha", "red/reference"],
        ["sha", "red/conformance"],
        ["find", "ings-"],
        ["issue ", "#"],
        ["T", "ODO"],
        ["FIX", "ME"],
        ["X", "XX"],
        ["pypi.", "org"],
        ["static.", "crates.io"],
        ["artifact", "ory"],
        ["/ho", "me/"],
        ["/ro", "ot/"],
        ["/tmp/", "rules-"],
    ]
    .iter()
    .map(|parts| parts.concat())
    .collect();
    let mut problems = Vec::new();
    for path in files().into_iter().filter(|path| path != "Cargo.lock") {
        for (index, line) in text(&path).lines().enumerate() {
            for word in words.iter().filter(|word| line.contains(word.as_str())) {
                problems.push(format!("{path}:{}: {word}", index + 1));
            }
        }
    }
    assert_none(&problems);
}

/// Linker engineers have a term for everything that a linker does. These phrases stood for such terms once.
#[test]
fn the_words_are_those_of_the_field() {
    // In two parts, so that this list is not found by itself.
    let phrases: Vec<String> = [
        ["what names ", "mean"],       // symbol resolution
        ["what every name ", "means"], // symbol resolution
        ["copy that ", "counts"],      // the prevailing definition
        ["definition ", "counts"],     // the prevailing definition
        ["lost ", "copy"],             // a discarded definition
        ["copies that ", "lost"],      // discarded definitions
        ["of unknown ", "size"],       // dynamic shared memory
        ["seven bits ", "per byte"],   // ULEB128
        ["attributes that ", "flow"],  // propagated attributes
        ["very ", "many."],            // hot
        ["the driver's ", "business"],
        ["is there ", "twice"], // a duplicate
        ["program of ", "nothing"],
        ["makes ", "nothing of"],
        ["to ", "blame"],  // the call path that forces something
        ["hung", "riest"], // the maximum
    ]
    .iter()
    .map(|parts| parts.concat())
    .collect();
    let is_prose = |path: &String| ["rs", "md", "toml", "js", "html"].iter().any(|end| path.ends_with(&format!(".{end}")));
    let mut problems = Vec::new();
    for path in files().into_iter().filter(is_prose) {
        for (index, line) in text(&path).to_lowercase().lines().enumerate() {
            for phrase in phrases.iter().filter(|phrase| line.contains(phrase.as_str())) {
                problems.push(format!("{path}:{}: {phrase}", index + 1));
            }
        }
    }
    assert_none(&problems);
}

/// What a relocation computes is a column of the table of relocation types; whoever wants a certain one takes it by its name.
#[test]
fn relocations_have_numbers_in_their_table_only() {
    let mut problems = Vec::new();
    for path in sources().filter(|path| !path.starts_with("crates/cubin/src/relocation")) {
        for (index, line) in text(&path).lines().enumerate() {
            // The mention here is in two parts, so that this file is not one of those it looks for.
            if line.contains(&["RelocationType", "("].concat()) {
                problems.push(format!("{path}:{}: a relocation type made of a number", index + 1));
            }
        }
    }
    assert_none(&problems);
}

/// What differs between architectures and between releases is in tables: whoever needs it asks them, and compares no numbers.
#[test]
fn architectures_and_releases_have_numbers_in_their_tables_only() {
    const TABLES: &[&str] = &[
        "crates/cubin/src/fast_path.rs",
        "crates/cubin/src/release.rs",
        "crates/cubin/src/relocation/table.rs",
        "crates/cubin/src/target.rs",
        "crates/cuweld-cli/src/options/table/",
        "crates/cuweld-report/src/occupancy.rs",
        "crates/cuweld/src/diagnostics/message.rs",
        "crates/cuweld/src/imitations.rs",
        "crates/nvjitlink/src/release.rs",
    ];
    /// The same numbers with another meaning, or the reason why they are not in a table.
    const OTHERS: &[(&str, &str)] = &[
        ("crates/cubin/src/printable.rs", "80"),                // the first code that is not ASCII
        ("crates/cuweld-cli/src/options/help.rs", "100"),       // columns of a terminal
        ("crates/cuweld-cli/src/progress.rs", "80"),            // columns of a terminal
        ("crates/cuweld-cli/src/progress.rs", "100"),           // milliseconds
        ("crates/cuweld-cli/src/start.rs", "101"),              // the status of a program that panicked
        ("crates/cuweld-host-object/src/lib.rs", "88"),         // bytes of a table
        ("crates/cuweld/src/phases/check/registers.rs", "100"), // call paths that are listed at most
        ("crates/cuweld/src/phases/load/mod.rs", "80"),         // bytes of a row
        ("crates/fatbin/src/choose.rs", "90"),                  // one architecture of which the reference chooses in another way
    ];
    let mut numbers: BTreeSet<String> = Target::all().iter().map(|target| target.number.to_string()).collect();
    let releases = || Release::all().iter().chain([Release::cuda_12()]);
    numbers.extend(releases().map(|release| release.toolkit.to_string()));
    let mut problems = Vec::new();
    for path in sources().filter(|path| path.starts_with("crates/") && path.contains("/src/") && !path.ends_with("tests.rs")) {
        if TABLES.iter().any(|table| path.starts_with(table)) {
            continue;
        }
        let text = text(&path);
        let product = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default();
        for (index, line) in product.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            let words = |text: &str| -> Vec<String> {
                text.split(|c: char| !c.is_alphanumeric() && !['_', '.'].contains(&c))
                    .map(|word| word.trim_matches('.').to_owned())
                    .collect()
            };
            let (code, texts): (Vec<_>, Vec<_>) = line.split('"').enumerate().partition(|(part, _)| part % 2 == 0);
            let in_code = code.iter().flat_map(|(_, code)| words(code.split(" //").next().unwrap_or_default()));
            let is_other = |number: &str| OTHERS.contains(&(path.as_str(), number));
            let mut found: Vec<String> = in_code.filter(|word| numbers.contains(word) && !is_other(word)).collect();
            for (_, text) in texts {
                found.extend(Target::by_name(text).map(|target| target.name.to_owned()));
                found.extend(words(text).into_iter().filter(|word| releases().any(|release| release.name == word)));
            }
            problems.extend(found.iter().map(|number| format!("{path}:{}: {number} belongs into a table", index + 1)));
        }
    }
    assert_none(&problems);
}

/// What cuweld is compared with can be installed.
#[test]
fn every_build_has_a_toolkit() {
    let script = text("scripts/toolkit");
    let installed: BTreeSet<&str> = script.split_whitespace().collect();
    for (tool, variable) in [(Tool::Nvlink, "nvcc"), (Tool::NvJitLink, "library")] {
        for known in ToolBuild::all(tool) {
            assert!(installed.contains(format!("{variable}={}", known.build.version).as_str()), "{}", known.name());
        }
    }
}

/// A kind of output section knows all that there is to know of it. Only the phase that creates sections names kinds.
#[test]
fn kinds_of_sections_are_known_in_their_folder_only() {
    const QUESTIONS: &[&str] = &["Bytes", "Class", "InViews", "Memory", "SectionKind", "Shape"];
    let kinds: BTreeSet<String> = exports(&text("crates/cuweld/src/sections/mod.rs"));
    assert!(kinds.len() > 20, "the kinds were not found: {kinds:?}");
    let may_name =
        |path: &str| ["sections/", "phases/merge/"].iter().any(|part| path.starts_with(&format!("crates/cuweld/src/{part}")));
    let mut problems = Vec::new();
    for path in sources().filter(|path| path.starts_with("crates/cuweld/src/") && !may_name(path)) {
        let code: String = text(&path).lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        if code.contains("sections as ") {
            problems.push(format!("{path} gives the folder of kinds another name"));
        }
        // However the folder is named: a whole path, one in a group, or the folder itself.
        for mention in code.split("sections::").skip(1) {
            let group = mention.strip_prefix('{').and_then(|group| group.split('}').next());
            let one = || mention.split(|letter: char| !letter.is_alphanumeric() && letter != '*').next().unwrap_or_default();
            let names: Vec<&str> = group.map_or_else(|| vec![one()], |group| group.split(',').map(str::trim).collect());
            let is_kind = |name: &&str| (kinds.contains(*name) || *name == "*") && !QUESTIONS.contains(name);
            problems.extend(names.into_iter().filter(is_kind).map(|name| format!("{path} knows the kind {name}")));
        }
    }
    assert_none(&problems);
}

/// The names that a module makes public of those below it.
fn exports(text: &str) -> BTreeSet<String> {
    let lists = text.split("\npub use ").skip(1).filter_map(|list| list.split(';').next()?.split_once("::"));
    lists.flat_map(|(_, names)| names.trim_matches(['{', '}']).split(',').map(|name| name.trim().to_owned())).collect()
}

/// Every case has been recorded, and stands beside the rule that it shows.
#[test]
fn cases_are_recorded_and_described() {
    let (ratchet, rules) = (text("tests/ratchet.toml"), text("docs/linking.md"));
    let described: BTreeSet<&str> = rules.split(|letter: char| !letter.is_alphanumeric() && letter != '_').collect();
    let mut problems = Vec::new();
    for path in files() {
        let Some(case) = path.strip_prefix("tests/cases/").and_then(|path| path.strip_suffix("/case.toml")) else { continue };
        if !ratchet.contains(&format!("\n{case} = ")) {
            problems.push(format!("{case} is not in tests/ratchet.toml: run `cargo xtask bless`"));
        }
        if !described.contains(case) {
            problems.push(format!("{case} is not mentioned in docs/linking.md"));
        }
    }
    assert_none(&problems);
}

/// Whoever runs the program has to know which variables of the environment change what it does.
#[test]
fn variables_of_the_environment_are_listed() {
    let (promises, manual) = (text("docs/robustness.md"), text("crates/cuweld-cli/src/options/manual.rs"));
    let is_name = |word: &&str| word.len() > 3 && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let mut names = BTreeSet::new();
    // A call for build scripts reads what cargo tells those.
    let is_read_by_users = |path: &String| path.contains("/src/") && !path.starts_with("crates/cuweld-device-link");
    for path in sources().filter(|path| path.starts_with("crates/")).filter(is_read_by_users) {
        let text = text(&path);
        let is_concerned = |line: &&str| ["var(", "var_os(", "variable(", "VARIABLE"].iter().any(|call| line.contains(call));
        // What only tests read is told by their names.
        let product = text.split("#[cfg(test)]").next().unwrap_or_default();
        for line in product.lines().filter(is_concerned) {
            names.extend(line.split('"').skip(1).step_by(2).filter(is_name).map(str::to_owned));
        }
    }
    assert!(names.len() > 15, "{names:?}");
    let lists = [("docs/robustness.md", promises), ("the manual", manual)];
    let is_missing = |text: &str, name: &str| !text.split(|c: char| c != '_' && !c.is_ascii_uppercase()).any(|word| word == name);
    let problems: Vec<String> = (lists.iter())
        .flat_map(|(list, text)| {
            names.iter().filter(|name| is_missing(text, name)).map(move |name| format!("{name} is not in {list}"))
        })
        .collect();
    assert_none(&problems);
}
