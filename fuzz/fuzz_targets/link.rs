//! A whole link of two files of any kind: it ends with an image that can be read again, or with a message.
#![no_main]

use cubin::read::File;
use cuweld::diagnostics::Report;
use cuweld::inputs::{Code, unpack};
use cuweld::Input;
use cuweld_fuzz::Pair;
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some(pair) = Pair::new(data) else { return Corpus::Reject };
    let mut report = Report::default();
    let Ok(unpacked) = unpack(&pair.inputs(), &pair.unpack_options(), &mut report) else { return Corpus::Keep };
    let objects = unpacked.units.iter().filter_map(|unit| match &unit.code {
        Code::Cubin(bytes) => Some(Input::new(&unit.name, bytes)),
        _ => None,
    });
    let objects: Vec<Input<'_>> = objects.collect();
    match cuweld::link(&objects, &pair.link_options(), &mut report, &mut ()) {
        Ok(linked) => assert!(File::parse(&linked.image).is_ok(), "the image can not be read"),
        Err(_) => assert!(report.diagnostics().next().is_some(), "no message"),
    }
    Corpus::Keep
});
