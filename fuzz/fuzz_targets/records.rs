//! The record formats inside sections: info records, call graphs, prototypes, capsules, notes.
#![no_main]

use cubin::{callgraph, capsule::Capsule, info, note};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    // What was read of a whole section, written again, is the section.
    if let Ok(records) = info::records(data).collect::<cubin::Result<Vec<_>>>() {
        let mut again = Vec::new();
        records.iter().for_each(|record| record.encode(&mut again));
        assert_eq!(again, data);
        assert!(records.iter().all(|record| record.symbols().count() <= data.len()));
    }
    _ = callgraph::edges(data).chain(callgraph::edges(data)).count();
    _ = callgraph::prototypes(data).count();
    _ = Capsule::new(data).and_then(|capsule| capsule.verbatim());
    for note in note::notes(data).flatten() {
        _ = (note::ToolNote::decode(note.description), note::CudaInfo::decode(note.description));
    }
});
