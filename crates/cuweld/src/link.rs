//! The pipeline: every phase in order, each with its reason, and what holds from there on.

use crate::diagnostics::{Failure, Report};
use crate::linked::Linked;
use crate::observer::{Observer, Phase};
use crate::options::Options;
use crate::phases::finalize::Finished;
use crate::phases::image_size::Room;
use crate::phases::load::Input;
use crate::phases::stages::{Planned, Settled};
use crate::phases::{
    admission, attributes, callgraph, check, components, early_exit, finalize, image_size, info, intern, layout, live, load,
    machine_debug, merge, names, number, propagate, references, relocate, resolve, unified, usage,
};

/// Links `inputs`, and passes the finished file to `save`.
pub fn link_with<Image>(
    inputs: &[Input<'_>],
    options: &Options,
    report: &mut Report,
    observer: &mut dyn Observer,
    save: impl FnOnce(&Finished<'_, '_>, &mut Report) -> Result<Image, Failure>,
) -> Result<Linked<Image>, Failure> {
    // Read and check everything once. From here on, offsets, indices and sizes of inputs are known to be valid.
    let inputs = &observer.phase(Phase::Load, || load::load(inputs, options, report))??;
    admission::check(inputs, options, report)?;
    let room = image_size::find(inputs, options);
    // One number per name.
    let interned = observer.phase(Phase::Intern, || intern::intern(inputs))?;
    // Symbol resolution. From here on there are no new symbols, and each has its prevailing definition.
    let resolution = &observer.phase(Phase::Resolve, || resolve::resolve(inputs, interned, options, report))??;
    // Calls, direct and through pointers; then the strongly connected components, callees before callers.
    let graph = &observer.phase(Phase::Callgraph, || callgraph::build(inputs, resolution, options))?;
    let components = &observer.phase(Phase::Components, || components::find(graph))?;
    // Garbage collection from the entry functions. From here on it is known which functions are in the output.
    let live = &observer.phase(Phase::Live, || live::find(inputs, resolution, graph, options))?;
    // The shared variables and textures that code refers to: their memories are laid out per kernel.
    let references = &observer.phase(Phase::References, || references::find(inputs, resolution))?;
    // Which entry functions reach what; a program's only kernel counts as reaching all live code.
    let usage = &observer.phase(Phase::Usage, || usage::find(graph, components, live))?;
    // The attributes of functions, and their propagation to the entry functions that reach them.
    let attributes = &observer.phase(Phase::Attributes, || attributes::read(inputs, resolution, live))?;
    check::check_tools_patch(inputs, resolution, attributes, options, report)?;
    let properties = &observer.phase(Phase::Propagate, || {
        let facts = propagate::Facts { inputs, resolution, graph, components, live, usage, attributes, room };
        propagate::propagate(&facts, options, report)
    })??;
    if options.extra_warnings {
        check::warn_of_functions_never_called(resolution, live, report);
    }
    // Slots in tables that several programs share.
    let unified = &observer.phase(Phase::Unified, || unified::find(inputs, resolution, live, options, report))??;
    // Output sections and the order of symbols. From here on there are no new sections.
    let plan = &observer.phase(Phase::Merge, || {
        merge::merge(&merge::Facts { inputs, resolution, usage, live, properties, references, unified, options, room }, report)
    })??;
    // Offsets in the memories that are laid out per kernel. From here on, all addresses that the driver does not choose are final.
    let layout = &observer.phase(Phase::Layout, || {
        layout::layout(&layout::Facts { inputs, resolution, usage, live, references, plan, options }, report)
    })??;
    // Errors of the program as a whole, all of which are reported before the link ends. From here on, the program is complete and
    // within all limits.
    let planned = &Planned { inputs, resolution, graph, live, unified, plan, layout, options };
    let program = &check::Facts { planned, usage, attributes, properties };
    let outline = observer.phase(Phase::Check, || check::check(program, report))??;
    observer.outline(outline);
    report.checkpoint()?;
    make_file(program, room, report, observer, save)
}

/// Makes the file of a checked program.
fn make_file<Image>(
    program: &check::Facts<'_, '_>,
    room: Room,
    report: &mut Report,
    observer: &mut dyn Observer,
    save: impl FnOnce(&Finished<'_, '_>, &mut Report) -> Result<Image, Failure>,
) -> Result<Linked<Image>, Failure> {
    let &check::Facts { planned, attributes, properties, .. } = program;
    let &Planned { inputs, resolution, graph, live, options, .. } = planned;
    // String tables do not depend on these phases, so they are built in parallel.
    let (decided, names) = rayon::join(
        || {
            // Which relocations are applied now, and which are left to the driver. Then attribute records.
            let relocations = observer.phase(Phase::Relocate, || relocate::relocate(planned, report))??;
            let info = observer.phase(Phase::Info, || {
                let early_exits = &early_exit::find(inputs, resolution, graph, live, options);
                info::make(&info::Facts { planned, attributes, properties, early_exits })
            })?;
            // Leaves out empty sections, and numbers the others and symbols. From here on, numbers are final.
            let settled = Settled { planned: *planned, relocations: &relocations, info: &info };
            let numbering = observer.phase(Phase::Number, || number::number(&settled))?;
            Ok((relocations, info, numbering))
        },
        || names::place(planned),
    );
    let (relocations, info, numbering) = &decided?;
    let settled = Settled { planned: *planned, relocations, info };
    // In files with two views: the debug information of the machine view, in symbol order; in parallel, the names of that view.
    let (machine_debug, names) = rayon::join(
        || observer.phase(Phase::MachineDebug, || machine_debug::build(&machine_debug::Facts { planned, numbering })),
        || finalize::name(&settled, numbering, names),
    );
    let machine_debug = &machine_debug?;
    // Headers, and everything that the file is written from. From here on, the size of every section is final.
    let finished = &observer.phase(Phase::Finalize, || {
        finalize::finalize(finalize::Facts { settled, attributes, machine_debug, numbering }, names)
    })?;
    observer.phase(Phase::Write, || {
        room.check(finished.size(), report)?;
        let map = options.listings.map.map(|contents| finished.map(contents));
        Ok(Linked { image: save(finished, report)?, map })
    })?
}
