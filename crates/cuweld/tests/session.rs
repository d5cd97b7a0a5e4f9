//! A link through the library: the same kernels as the program keeps, phases in order, and an early end.

use cuweld::diagnostics::{Failure, Report};
use cuweld::inputs::lower::Compilers;
use cuweld::observer::{Observer, Phase};
use cuweld::options::{KernelRoots, Options};
use cuweld::target::Target;
use cuweld::{Demand, Input, Linked, Linker, kernels};
use std::ops::ControlFlow;

const A: &[u8] = include_bytes!("../../../tests/cases/host_objects/inputs/sm_90/a.o");
const B: &[u8] = include_bytes!("../../../tests/cases/host_objects/inputs/sm_90/b.o");
/// What the program makes of them.
const LINKED: &[u8] = include_bytes!("../../../tests/cases/host_objects/expected/sm_90/out.cubin");

fn linker() -> Result<Linker<'static>, Box<dyn std::error::Error>> {
    linker_of(KernelRoots::default())
}

fn linker_of(kernels: KernelRoots) -> Result<Linker<'static>, Box<dyn std::error::Error>> {
    let mut linker = Linker::new(Options { kernels, ..Options::new(Target::by_name("sm_90").ok_or("not a target")?) });
    linker.add("a.o", A)?;
    linker.add("b.o", B)?;
    Ok(linker)
}

fn names(linked: &Linked) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    Ok(linked.kernels()?.into_iter().map(|kernel| kernel.name).collect())
}

#[test]
fn kernels_that_host_code_does_not_refer_to_are_removed() -> Result<(), Box<dyn std::error::Error>> {
    let expected: Vec<String> = kernels::kernels(LINKED)?.into_iter().map(|kernel| kernel.name).collect();
    assert_eq!(names(&linker()?.link()?)?, expected);
    assert!(names(&linker_of(KernelRoots::All)?.link()?)?.len() > expected.len());
    Ok(())
}

#[test]
fn errors_say_what_is_wrong() -> Result<(), Box<dyn std::error::Error>> {
    let mut linker = Linker::new(Options::new(Target::by_name("sm_90").ok_or("not a target")?));
    linker.add("kernel.cubin", include_bytes!("../../../examples/two_units/kernel.cubin"))?;
    let error = linker.link().expect_err("a function is missing");
    assert_eq!((error.failure(), error.diagnostics().len()), (Failure::Errors, 2));
    let text = format!("{error:?}");
    assert!(text.contains("scale(float)") && text.contains("factor") && text.contains("kernel.cubin"), "{text}");
    // What is wrong with an input is said when it is added, and the link goes on without it.
    let error = linker.add("noise", b"\x7fELF and no more").expect_err("damaged");
    assert!(error.to_string().contains("noise"), "{error}");
    linker.add_if_needed("scale.cubin", include_bytes!("../../../examples/two_units/scale.cubin"))?;
    assert_eq!(names(&linker.link()?)?, ["_Z9scale_allPfi"]);
    Ok(())
}

#[test]
fn inputs_that_are_added_in_case_they_are_needed_are_left_out_otherwise() -> Result<(), Box<dyn std::error::Error>> {
    let mut linker = Linker::new(Options::new(Target::by_name("sm_90").ok_or("not a target")?));
    linker.add_if_needed("kernel.cubin", include_bytes!("../../../examples/two_units/kernel.cubin"))?;
    linker.add_if_needed("scale.cubin", include_bytes!("../../../examples/two_units/scale.cubin"))?;
    assert!(names(&linker.link()?)?.is_empty());
    Ok(())
}

/// What `-u` asks for may be a function of the device runtime library, although no object mentions it.
#[test]
fn the_device_runtime_library_takes_part_if_a_function_of_it_is_asked_for() -> Result<(), Box<dyn std::error::Error>> {
    let library = Input::new("scale.cubin", include_bytes!("../../../examples/two_units/scale.cubin"));
    let inputs = [Input { demand: Demand::Runtime, ..library }];
    for (name, is_there) in [("_Z5scalef", true), ("nothing", false)] {
        let options = Options { keep: vec![name.into()], ..Options::new(Target::by_name("sm_90").ok_or("not a target")?) };
        let mut report = Report::default();
        assert_eq!(cuweld::link(&inputs, &options, &mut report, &mut ()).is_ok(), is_there, "{name}");
    }
    Ok(())
}

#[derive(Default)]
struct Watch {
    begun: Vec<Phase>,
    ended: Vec<Phase>,
    stop_at: Option<Phase>,
}

impl Observer for Watch {
    fn begin(&mut self, phase: Phase) -> ControlFlow<()> {
        self.begun.push(phase);
        if self.stop_at == Some(phase) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn end(&mut self, phase: Phase) {
        self.ended.push(phase);
    }
}

#[test]
fn phases_begin_in_their_order_and_end() -> Result<(), Box<dyn std::error::Error>> {
    let mut watch = Watch::default();
    linker()?.link_observed(&Compilers::NONE, &mut watch)?;
    assert_eq!(watch.begun, watch.ended);
    let order: Vec<Phase> = Phase::ALL.iter().copied().filter(|phase| watch.begun.contains(phase)).collect();
    assert_eq!(watch.begun, order);
    assert_eq!(order.last(), Some(&Phase::Write));
    Ok(())
}

#[test]
fn a_link_can_be_cancelled_before_every_phase() -> Result<(), Box<dyn std::error::Error>> {
    let mut all = Watch::default();
    linker()?.link_observed(&Compilers::NONE, &mut all)?;
    for phase in all.begun {
        let mut watch = Watch { stop_at: Some(phase), ..Watch::default() };
        let mut linker = linker()?;
        let error = linker.link_observed(&Compilers::NONE, &mut watch).expect_err("cancelled");
        assert_eq!(error.failure(), Failure::Cancelled);
        assert!(!watch.ended.contains(&phase), "{}", phase.name());
        assert_eq!(linker.report().diagnostics().count(), 0);
        // It can be made all the same.
        assert!(linker.link().is_ok());
    }
    Ok(())
}
