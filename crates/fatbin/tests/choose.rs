//! The choice of an entry, against tables of what the reference linker chooses.

use cubin::release::Release;
use cubin::target::{Target, Variant};
use fatbin::choose::{Choice, Circumstances, Description, choose, inventory};
use fatbin::entry::{Architecture, EntryKind};

/// The targets that CUDA 13.0 knows: the tables are that one's.
fn targets_of_13_0() -> impl Iterator<Item = &'static Target> {
    Target::all().iter().filter(|target| target.first_toolkit <= 130)
}

/// As CUDA 13.0 chooses.
fn as_13_0(lto: bool) -> Circumstances {
    Circumstances { lto, accelerated_for_plain: true, release: Release::oldest() }
}

fn describe(name: &str) -> Description {
    let (kind, architecture) = name.split_once('_').expect("a kind and an architecture");
    let kind = match kind {
        "sm" => EntryKind::Cubin,
        "compute" => EntryKind::Ptx,
        "lto" => EntryKind::LtoIr,
        other => panic!("unknown kind {other}"),
    };
    let number = architecture.trim_end_matches(['a', 'f']);
    let variant = match architecture.trim_start_matches(number) {
        "" => Variant::Plain,
        "a" => Variant::Accelerated,
        _ => Variant::Family,
    };
    Description { kind, architecture: Architecture { number: number.parse().expect("a number"), variant }, address_64: true }
}

fn describe_all(names: &str) -> Vec<Description> {
    names.split_whitespace().map(describe).collect()
}

fn target(name: &str) -> &'static Target {
    Target::by_name(name).expect("a known target")
}

/// The choice as the tables write it.
fn chosen(entries: &[Description], target: &Target, lto: bool) -> String {
    match choose(entries, target, as_13_0(lto)) {
        Choice::Entry(index) => entries[index].to_string(),
        Choice::OnlyLtoIr => "only-lto".to_owned(),
        Choice::Nothing => "nothing".to_owned(),
    }
}

fn rows(table: &'static str) -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    table.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let (key, columns) = line.split_once(':').expect("a key");
        (key, columns.split('|').map(str::trim).collect())
    })
}

#[test]
fn an_entry_alone_is_taken_for_the_targets_the_reference_takes_it_for() {
    let mut count = 0;
    for (name, columns) in rows(include_str!("data/accepted.txt")) {
        let entry = [describe(name)];
        for (lto, expected) in [false, true].into_iter().zip(columns) {
            let accepting: Vec<_> = targets_of_13_0()
                .filter(|target| choose(&entry, target, as_13_0(lto)) != Choice::Nothing)
                .map(|target| target.name)
                .collect();
            assert_eq!(accepting.join(" "), expected, "{name}, lto {lto}");
            count += 1;
        }
    }
    assert_eq!(count, 2 * 3 * targets_of_13_0().count());
}

#[test]
fn of_several_entries_the_one_is_chosen_that_the_reference_chooses() {
    for (name, columns) in rows(include_str!("data/chosen.txt")) {
        let [entries, without, with] = columns[..] else { panic!("three columns for {name}") };
        let described = describe_all(entries);
        let answers = [false, true].map(|lto| chosen(&described, target(name), lto));
        assert_eq!(answers, [without, with], "{name}: {entries}");
    }
}

#[test]
fn the_order_of_different_entries_does_not_matter() {
    for (name, columns) in rows(include_str!("data/chosen.txt")) {
        let mut described = describe_all(columns[0]);
        let first = chosen(&described, target(name), false);
        for _ in 1..described.len() {
            described.rotate_left(1);
            assert_eq!(chosen(&described, target(name), false), first, "{name}: {columns:?}");
        }
    }
}

#[test]
fn among_equals_the_first_cubin_and_the_last_of_the_others_is_chosen() {
    for (entries, lto, expected) in [
        ("sm_90 sm_90 sm_90", false, 0),
        ("compute_80 sm_90 sm_90", false, 1),
        ("compute_90 compute_90 compute_90", false, 2),
        ("lto_90 lto_90 sm_90", true, 1),
    ] {
        let choice = choose(&describe_all(entries), target("sm_90"), as_13_0(lto));
        assert_eq!(choice, Choice::Entry(expected), "{entries}");
    }
}

#[test]
fn what_cannot_be_linked_is_never_chosen() {
    let narrow = Description { address_64: false, ..describe("sm_90") };
    let unknown = Description { kind: EntryKind::Other(0x40), ..describe("sm_90") };
    assert_eq!(choose(&[narrow, unknown], target("sm_90"), as_13_0(true)), Choice::Nothing);
    assert_eq!(choose(&[], target("sm_90"), as_13_0(false)), Choice::Nothing);
}

#[test]
fn ptx_of_earlier_gpus_is_taken_but_not_of_unknown_ones() {
    for number in 0..200 {
        let entry = describe(&format!("compute_{number}"));
        let taken = choose(&[entry], target("sm_110"), as_13_0(false)) != Choice::Nothing;
        let expected =
            [10, 11, 12, 13, 20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 75, 80, 86, 87, 88, 89, 90, 100, 103, 107, 110];
        assert_eq!(taken, expected.contains(&number), "compute_{number}");
    }
}

#[test]
fn an_inventory_lists_everything_once() {
    let mut entries = describe_all("compute_90 lto_80 sm_90a sm_80 sm_90 sm_80 compute_100f");
    entries.push(Description { address_64: false, ..describe("sm_90") });
    entries.push(Description { kind: EntryKind::Other(64), ..describe("sm_75") });
    assert_eq!(inventory(&entries), "sm_80, sm_90 (32-bit), sm_90, sm_90a, compute_90, compute_100f, lto_80, kind 64 for 75");
    assert_eq!(inventory(&[]), "");
}

#[test]
fn code_for_one_gpu_is_not_for_others() {
    let accelerated = describe_all("sm_90a");
    let strict = |name: &str| choose(&accelerated, target(name), Circumstances::default());
    assert_eq!((strict("sm_90"), strict("sm_90a")), (Choice::Nothing, Choice::Entry(0)));
}
