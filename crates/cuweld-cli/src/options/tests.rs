//! What command lines mean, where the reference cannot be asked: inputs in their order, and options that it lacks.

use super::*;
use std::path::PathBuf;

fn link_with(arguments: &[&str], files: &[(&str, &str)]) -> Result<LinkArguments, String> {
    let arguments = arguments.iter().map(OsString::from);
    let mut read_file = |path: &Path| {
        let file = files.iter().find(|(name, _)| Path::new(name) == path);
        let contents = file.map(|(_, contents)| contents.as_bytes().to_vec());
        contents.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    };
    match parse(arguments, true, &mut read_file) {
        Ok(Invocation::Link(link)) => Ok(*link),
        Ok(other) => Err(format!("{other:?}")),
        Err(error) => Err(error.problems.last().map(ToString::to_string).unwrap_or_default()),
    }
}

/// A link for sm_90 of these arguments.
fn link(arguments: &[&str]) -> Result<LinkArguments, String> {
    link_with(&[&["-arch=sm_90", "-o", "out"], arguments].concat(), &[])
}

fn sources(link: &LinkArguments) -> Vec<InputSource> {
    link.inputs.iter().map(|item| item.source.clone()).collect()
}

fn file(name: &str) -> InputSource {
    InputSource::File(PathBuf::from(name))
}

#[test]
fn inputs_keep_their_order_and_libraries_are_linked_last() -> Result<(), String> {
    let link = link(&["-lx,y", "a.o", "-l:exact.a", "b.o", "-lz"])?;
    let library = |name: &str| InputSource::Library(name.into());
    let exact = InputSource::LibraryFile("exact.a".into());
    let typed = [library("x"), library("y"), file("a.o"), exact.clone(), file("b.o"), library("z")];
    assert_eq!(sources(&link), typed);
    let linked: Vec<_> = link.inputs_in_link_order().map(|item| item.source.clone()).collect();
    assert_eq!(linked, [file("a.o"), file("b.o"), library("x"), library("y"), exact, library("z")]);
    Ok(())
}

#[test]
#[rustfmt::skip] // rows of a table
fn archives_and_groups_are_states_of_inputs() -> Result<(), String> {
    let link = link(&[
        "a.a", "--no-whole-archive", "b.a", "-lc", "--whole-archive", "-ld", "--start-lib", "e.o", "f.o",
        "--end-lib", "g.o", "--start-lib", "h.o", "--end-lib",
    ])?;
    let states: Vec<_> = link.inputs.iter().map(|item| (item.members, item.group)).collect();
    use Members::{All, Needed};
    assert_eq!(
        states,
        [
            (All, None), (Needed, None), (Needed, None), (All, None), (All, Some(0)), (All, Some(0)), (All, None),
            (All, Some(1)),
        ]
    );
    Ok(())
}

/// As clang's wrapper of nvlink writes them.
#[test]
fn options_of_other_linkers_may_lack_their_values() -> Result<(), String> {
    let link = link(&["-u", "-z", "-L", "folder", "a.o", "-z", "now", "-u", "f", "-z"])?;
    assert_eq!((link.library_paths, link.roots.undefined), (vec![PathBuf::from("folder")], vec!["f".to_owned()]));
    assert_eq!(link.inputs.len(), 1);
    Ok(())
}

#[test]
fn groups_must_be_closed_and_not_nested() {
    for (arguments, expected) in [
        (&["a.o", "--start-lib"][..], "'--start-lib' without '--end-lib'"),
        (&["a.o", "--end-lib"], "'--end-lib' without '--start-lib'"),
        (&["--start-lib", "a.o", "--start-lib", "--end-lib"], "'--start-lib' inside '--start-lib'"),
    ] {
        assert_eq!(link(arguments).err().as_deref(), Some(expected));
    }
}

#[test]
#[rustfmt::skip] // rows of a table
fn extensions_reach_their_fields() -> Result<(), String> {
    let link = link(&[
        "a.o", "-u", "f", "--undefined=g", "-z", "now", "--diagnostics=json", "--threads=4", "--no-command-line-note",
        "--compat=nvlink-13.4.92", "--release=13.2", "--save-dir=D", "--print-gc-sections", "--why-live=k", "--trace", "-Map=M-%a", "--report=R", "--cref",
        "--error-limit=0", "--toolkit=T", "--time-trace=J", "--finalizer", "F", "--max-unpacked=2G",
    ])?;
    assert_eq!(link.roots.undefined, ["f", "g"]);
    assert_eq!(link.messages.diagnostics, Some(DiagnosticsStyle::Json));
    assert_eq!(link.messages.error_limit, Some(0));
    assert_eq!(link.messages.why_live, ["k"]);
    assert!(link.messages.print_gc_sections && link.messages.trace && link.files.cref);
    assert_eq!(link.execution.threads, Some(4));
    assert_eq!(link.execution.max_unpacked, Some(2 << 30));
    assert!(link.note.omit_options);
    assert_eq!((link.compat.as_deref(), link.release.as_deref()), (Some("nvlink-13.4.92"), Some("13.2")));
    assert_eq!(link.files.save_dir, Some(PathBuf::from("D")));
    assert_eq!(link.files.map, Some(PathBuf::from("M-sm_90")));
    assert_eq!(link.files.report, Some(PathBuf::from("R")));
    assert_eq!(link.files.time_trace, Some(PathBuf::from("J")));
    assert_eq!(link.compile.toolkit, Some(PathBuf::from("T")));
    assert_eq!(link.compile.finalizer, Some(PathBuf::from("F")));
    assert_eq!(link.note.options, "-arch sm_90 ", "the note knows only options of the reference");
    assert!(link.warnings.is_empty());
    Ok(())
}

#[test]
fn extensions_have_problems_of_their_own() {
    for (argument, expected) in [
        ("--threads=-1", "Invalid argument for option '--threads'"),
        ("--error-limit=x", "'x': expected a number"),
        ("--max-unpacked=lots", "'lots': expected a size, such as 4096 or 16M"),
        ("--diagnostics=loud", "Value 'loud' is not defined for option 'diagnostics'"),
        ("--note-as=ld", "Value 'ld' is not defined for option 'note-as'"),
        ("-ufoo", "Unknown option 'ufoo'"),
    ] {
        assert_eq!(link(&["a.o", argument]).err().as_deref(), Some(expected));
    }
}

#[test]
fn response_files_stand_for_their_words() -> Result<(), String> {
    let files = [("r", "a.o 'b c.o' @s"), ("s", "-arch sm_90 -o out"), ("self", "@self")];
    let link = link_with(&["@r", "@missing"], &files)?;
    assert_eq!(sources(&link), [file("a.o"), file("b c.o"), file("@missing")]);
    let error = link_with(&["@self"], &files).err();
    assert_eq!(error.as_deref(), Some("Too many options file opened 'self'"));
    Ok(())
}

#[test]
fn what_only_prints_needs_nothing_else() {
    let parsed = |argument: &str| {
        let mut no_files = |_: &Path| Err(io::Error::from(io::ErrorKind::NotFound));
        parse([OsString::from(argument)].into_iter(), true, &mut no_files)
    };
    assert!(matches!(parsed("-h"), Ok(Invocation::Help)));
    assert!(matches!(parsed("--version"), Ok(Invocation::Version)));
    assert!(matches!(parsed("--explain=CW1"), Ok(Invocation::Explain(code)) if code == "CW1"));
    assert!(matches!(parsed("--generate=man"), Ok(Invocation::Generate(Generated::ManualPage))));
    assert!(matches!(parsed("--generate=complete-fish"), Ok(Invocation::Generate(Generated::Fish))));
}

#[test]
fn a_mistake_does_not_hide_how_to_report_it() {
    let arguments = ["--diagnostics=json", "-tool-name=t", "-report-arch", "-arch=sm_90", "a.o"].map(OsString::from);
    let mut no_files = |_: &Path| Err(io::Error::from(io::ErrorKind::NotFound));
    let error = parse(arguments.into_iter(), true, &mut no_files).err();
    let shown = error.map(|error| (error.diagnostics, error.tool_name, error.reported_arch));
    assert_eq!(shown, Some((Some(DiagnosticsStyle::Json), Some("t".to_owned()), Some("sm_90".to_owned()))));
}

#[test]
#[cfg(unix)]
fn names_need_not_be_text() -> Result<(), String> {
    use std::os::unix::ffi::OsStringExt;
    let raw = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    let arguments = [raw(b"-arch=sm_90"), raw(b"-o=\xff.cubin"), raw(b"\xfe.o"), raw(b"-L\xfd,x"), raw(b"-optf=\xfc")];
    let mut read_file = |_: &Path| Ok(b"\xfb.o".to_vec());
    match parse(arguments.into_iter(), true, &mut read_file) {
        Ok(Invocation::Link(link)) => {
            assert_eq!(link.output, Some(PathBuf::from(raw(b"\xff.cubin"))));
            let inputs = [b"\xfe.o", b"\xfb.o"].map(|name| InputSource::File(PathBuf::from(raw(name))));
            assert_eq!(sources(&link), inputs);
            assert_eq!(link.library_paths, [PathBuf::from(raw(b"\xfd")), PathBuf::from("x")]);
            Ok(())
        }
        other => Err(format!("{other:?}")),
    }
}

/// The command line that nvcc.exe gives its linker, of which everything stands in an options file.
#[test]
fn windows_compiler_driver() -> Result<(), String> {
    let text = r#"-m64 --arch=sm_90 --register-link-binaries="d.reg.c"  /LIBPATH:"bar" foo.lib   "/LibPath:T\bin/../lib/x64" -cpu-arch=X86_64 "a b.obj" "C:\x\c.lib" here.lib cudadevrt.lib -Lfirst -lx -o "d.sm_90.cubin""#;
    let mut read_file = |_: &Path| Ok(text.as_bytes().to_vec());
    let exists = |path: &Path| path == Path::new("here.lib");
    let arguments = ["-optf", "F.optf"].map(OsString::from).into_iter();
    let link = match parse_on(System::Windows, arguments, true, &mut read_file, &exists) {
        Ok(Invocation::Link(link)) => *link,
        other => return Err(format!("{other:?}")),
    };
    assert_eq!(link.library_paths, ["first", "bar", r"T\bin/../lib/x64"].map(PathBuf::from));
    let library = |name: &str| InputSource::Library(name.into());
    let expected =
        [file("a b.obj"), file(r"C:\x\c.lib"), file("here.lib"), library("foo.lib"), library("cudadevrt.lib"), library("x")];
    let found: Vec<InputSource> = link.inputs_in_link_order().map(|item| item.source.clone()).collect();
    assert_eq!(found, expected);
    assert_eq!(link.output, Some(PathBuf::from("d.sm_90.cubin")));
    // What was implied is noted only together with what was given as an option.
    assert!(link.note.options.contains(r"-L first,bar,T\bin/../lib/x64 "), "{}", link.note.options);
    assert!(link.note.options.contains("-l x,foo.lib,cudadevrt.lib "), "{}", link.note.options);
    Ok(())
}
