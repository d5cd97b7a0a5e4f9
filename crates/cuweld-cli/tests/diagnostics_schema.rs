//! Messages as JSON are as `docs/diagnostics.schema.json` describes them.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn here(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Command lines, with the folder of a case to run them in.
const LINKS: &[(&str, &str)] = &[
    ("undefined_functions", "a.cubin b.cubin"),
    ("undefined_elsewhere", "a.o late.o libothers.a"),
    ("archive_member_in_message", "a.cubin libduplicate.a"),
    ("verbose", "-v a.cubin b.cubin"),
    ("wrong_architecture", "-report-arch a.cubin"),
    ("shared_too_much", "a.cubin b.cubin"),
    ("verbose", "missing.cubin"),
    ("verbose", "-no-such-option"),
];

fn lines(case: &str, words: &str) -> Vec<Value> {
    let folder = here("../../tests/cases").join(case).join("inputs/sm_90");
    let folder_for_output = tempfile::TempDir::new().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_cuweld"))
        .current_dir(folder)
        .args(["-arch=sm_90", "--diagnostics=json"])
        .arg("-o")
        .arg(folder_for_output.path().join("out"))
        .args(words.split(' '))
        .output()
        .expect("the program runs");
    let printed = String::from_utf8(output.stderr).expect("text");
    printed.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"))).collect()
}

/// Whether a value is as a part of the schema says, which uses few of the language's words.
fn check(schema: &Value, value: &Value, place: &str) {
    let type_name = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    match &schema["type"] {
        Value::String(allowed) => assert_eq!(allowed, type_name, "{place}"),
        Value::Array(allowed) => assert!(allowed.iter().any(|allowed| allowed == type_name), "{place}: {value}"),
        _ => assert!(schema["enum"].as_array().is_some_and(|allowed| allowed.contains(value)), "{place}: {value}"),
    }
    for item in value.as_array().into_iter().flatten() {
        check(&schema["items"], item, place);
    }
    let Some(object) = value.as_object() else { return };
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        assert!(object.contains_key(name), "{place} lacks {name}");
    }
    for (name, value) in object {
        let known = schema["properties"].get(name).unwrap_or(&schema["additionalProperties"]);
        assert!(known.is_object(), "{place} has {name}");
        check(known, value, &format!("{place}.{name}"));
    }
}

#[test]
fn messages_are_as_the_schema_says() {
    let text = std::fs::read_to_string(here("../../docs/diagnostics.schema.json")).expect("the schema");
    let schema: Value = serde_json::from_str(&text).expect("JSON");
    for (case, words) in LINKS {
        let lines = lines(case, words);
        assert!(!lines.is_empty(), "{case} {words}");
        lines.iter().for_each(|line| check(&schema, line, case));
    }
}

#[test]
fn fields_say_what_a_message_is_about() {
    let undefined = &lines("undefined_functions", "a.cubin b.cubin")[0];
    assert_eq!((&undefined["symbol"], &undefined["file"]), (&"one".into(), &"a.cubin".into()));
    let duplicate = &lines("archive_member_in_message", "a.cubin libduplicate.a")[0];
    assert_eq!((&duplicate["file"], &duplicate["member"]), (&"libduplicate.a".into(), &"b.o".into()));
    assert!(duplicate["hints"][0].is_string());
}
