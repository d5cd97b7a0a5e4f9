//! The pipeline: every phase in order, each with its reason.

use crate::diagnostics::{Failure, Outline, Report};
use crate::linker::Linked;
use crate::options::Options;
use crate::phases::finalize::Finished;
use crate::phases::load::Input;
use crate::phases::{
    attributes, callgraph, components, early_exit, finalize, image_size, info, intern, layout, listing, live, load,
    machine_debug, merge, names, number, propagate, references, registers, relocate, reserved, resolve, undefined, unified,
    versions, why_live,
};
use crate::trace::Trace;

/// Links `inputs`, and lets `save` do with the file what it will.
pub fn link_with<Image>(
    inputs: &[Input<'_>],
    options: &Options,
    report: &mut Report,
    trace: &mut Trace,
    save: impl FnOnce(&Finished<'_, '_>, &mut Report) -> Result<Image, Failure>,
) -> Result<Linked<Image>, Failure> {
    // Read and check everything once, so that later phases can trust it.
    let inputs = &trace.phase("load", || load::load(inputs, options, report))?;
    versions::check(inputs, options, report)?;
    // Which names are the same.
    let interned = trace.phase("intern", || intern::intern(inputs));
    // One meaning per name; the first mention of a name fixes its place in the output.
    let resolution = &trace.phase("resolve", || resolve::resolve(inputs, interned, options, report))?;
    // Calls, direct and through pointers.
    let graph = &trace.phase("callgraph", || callgraph::build(inputs, resolution, options));
    // Its cycles, and an order from callees to callers for everything that flows up.
    let components = &trace.phase("components", || components::find(graph));
    // Kernels and what they reach stay.
    let live = &trace.phase("live", || live::find(inputs, resolution, graph, options));
    // What functions say of themselves, and what follows for the kernels that call them.
    let attributes = &trace.phase("attributes", || attributes::read(inputs, resolution, live));
    let properties = &trace.phase("propagate", || {
        let facts = propagate::Facts { inputs, resolution, graph, components, live, attributes };
        propagate::propagate(&facts, options, report)
    });
    if options.extra_warnings {
        listing::warn_of_functions_never_called(resolution, live, report);
    }
    // What code refers to of the things that are laid out per kernel.
    let references = &trace.phase("references", || references::find(inputs, resolution));
    // Places in tables that several programs share.
    let unified = &trace.phase("unified", || unified::find(inputs, resolution, live, options, report))?;
    // Which pieces make which sections, and the order of all names.
    let (plan, shared_variables) = &trace.phase("merge", || {
        merge::merge(&merge::Facts { inputs, resolution, graph, components, live, references, unified, options })
    });
    // Addresses in the memories that are laid out per kernel.
    let layout = &trace.phase("layout", || {
        let facts = layout::Facts { inputs, resolution, graph, components, live, references, plan, shared_variables, options };
        layout::layout(&facts, report)
    })?;
    // What is wrong with the program as a whole: all of it is said before the link ends.
    trace.phase("check", || {
        let account = why_live::list(&why_live::Facts { inputs, resolution, graph, live, attributes, options }, report);
        undefined::check(inputs, resolution, live, options, report);
        versions::check_parameters(inputs, resolution, options, report);
        reserved::check(&reserved::Facts { resolution, live, attributes, properties }, options, report);
        let facts = registers::Facts { inputs, resolution, graph, components, live, attributes, properties, plan };
        registers::check(&facts, options, report);
        if options.verbose {
            listing::Resources { resolution, live, plan, layout, attributes, properties, options }.list(report);
        }
        let graphviz = options.listings.graphviz.then(|| listing::graphviz(resolution, graph, live));
        report.keep(Outline { left_out: inputs.left_out().to_vec(), graphviz, account });
        report.checkpoint()
    })?;
    // Names depend on nothing that comes now, so they get their places meanwhile.
    let relocate_facts = &relocate::Facts { inputs, resolution, live, unified, plan, layout, options };
    let (decided, names) = rayon::join(
        || {
            // With addresses known: what is settled now, and what the driver has to settle.
            let relocations = trace.phase("relocate", || relocate::relocate(relocate_facts, report))?;
            let early_exits = &early_exit::find(inputs, resolution, graph, live, options);
            let info_facts = info::Facts { inputs, resolution, live, attributes, properties, early_exits, plan, options };
            let info = trace.phase("info", || info::make(&info_facts));
            // With contents known: which sections are empty, and the numbers of the others and of the symbols.
            let numbering = trace.phase("number", || {
                let (relocations, info) = (&relocations, &info);
                number::number(&number::Facts { inputs, resolution, graph, live, plan, layout, relocations, info, options })
            });
            Ok((relocations, info, numbering))
        },
        || names::place(&names::Facts { inputs, resolution, graph, plan, layout, options }),
    );
    let (relocations, info, numbering) = &decided?;
    // Where there are two views: what the machine's debug information says of functions that stay, in the order of their symbols;
    // and meanwhile, the names of the other view.
    let (machine_debug, names) = rayon::join(
        || trace.phase("machine debug", || machine_debug::build(&machine_debug::Facts { relocate: relocate_facts, numbering })),
        || finalize::name(plan, numbering, names),
    );
    // With numbers known: tables, notes and headers, and all that the file is written from.
    let finished = &trace.phase("finalize", || {
        let facts = finalize::Facts {
            inputs,
            resolution,
            graph,
            live,
            unified,
            attributes,
            plan,
            layout,
            relocations,
            machine_debug: &machine_debug,
            info,
            numbering,
            options,
        };
        finalize::finalize(facts, names)
    });
    trace.phase("write", || {
        image_size::check(finished.size(), inputs, options, report)?;
        let map = options.listings.map.map(|contents| finished.map(contents));
        Ok(Linked { image: save(finished, report)?, map })
    })
}
