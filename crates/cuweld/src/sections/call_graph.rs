//! The call graph and the prototypes of functions, which the driver reads when it links further code at run time.

use super::{Bytes, InViews, SectionKind, Settled, Shape};
use crate::id::{FunctionId, SectionId};
use crate::phases::finalize::Output;
use crate::phases::number::FileSection;
use cubin::callgraph::{Edge, encode_edges, encode_prototypes};
use cubin::release::Rule;
use cubin::section::SectionType;

/// `.nv.callgraph`.
#[derive(Debug)]
pub struct CallGraphRecords;

/// `.nv.prototype`: the prototypes of functions that the call graph has none of.
#[derive(Debug)]
pub struct Prototypes;

impl CallGraphRecords {
    /// What it starts with.
    pub const SHAPE: Shape = Shape::new(SectionType::CALLGRAPH, 0, 4);
}

impl Prototypes {
    /// What it starts with.
    pub const SHAPE: Shape = Shape::new(SectionType::PROTOTYPE, 0, 4);
}

impl SectionKind for CallGraphRecords {
    fn in_views(&self) -> InViews {
        InViews::EachSince(Rule::CallGraphInBothViews)
    }

    fn entry_size(&self, _section_type: SectionType) -> u32 {
        8
    }

    fn link_and_info(&self, output: &Output<'_, '_>, part: FileSection) -> (u32, u32) {
        (output.symbol_table(part.view), 0)
    }

    /// Each list is in order of first mention of the caller.
    fn bytes(&self, output: &Output<'_, '_>, _part: FileSection) -> Bytes {
        let (live, graph) = (output.live, output.graph);
        let number = |function: FunctionId| output.function_number(function);
        let prototype = |id| output.names.prototypes[id];
        let is_live = |function: &FunctionId| live.contains(*function);
        let mut edges = Vec::new();
        for caller in live.functions() {
            let calls = graph.calls(caller).iter().copied().filter(is_live);
            edges.extend(calls.map(|callee| Edge::Call { caller: number(caller), callee: number(callee) }));
        }
        for function in live.functions() {
            let taken = graph.taken(function);
            edges.extend(taken.map(|id| Edge::AddressTaken { function: number(function), prototype: prototype(id) }));
        }
        for caller in live.functions() {
            let indirect = graph.indirect(caller).iter();
            edges.extend(indirect.map(|&id| Edge::IndirectCall { caller: number(caller), prototype: prototype(id) }));
        }
        for caller in live.functions() {
            let references = graph.references(caller).iter().copied().filter(is_live);
            edges.extend(references.map(|function| Edge::References { caller: number(caller), function: number(function) }));
        }
        let mut bytes = Vec::new();
        encode_edges(&edges, &mut bytes);
        Bytes::Made(bytes)
    }
}

impl SectionKind for Prototypes {
    fn in_views(&self) -> InViews {
        InViews::EachSince(Rule::CallGraphInBothViews)
    }

    fn entry_size(&self, _section_type: SectionType) -> u32 {
        8
    }

    fn is_needed(&self, settled: &Settled<'_, '_>, _id: SectionId) -> bool {
        settled.live.prototyped(settled.graph).next().is_some()
    }

    fn link_and_info(&self, output: &Output<'_, '_>, part: FileSection) -> (u32, u32) {
        (output.symbol_table(part.view), 0)
    }

    fn bytes(&self, output: &Output<'_, '_>, _part: FileSection) -> Bytes {
        let pair = |function: FunctionId| {
            Some((output.function_number(function), output.names.prototypes[output.graph.prototype(function)?]))
        };
        let pairs: Vec<(u32, u32)> = output.live.prototyped(output.graph).filter_map(pair).collect();
        let mut bytes = Vec::new();
        encode_prototypes(&pairs, &mut bytes);
        Bytes::Made(bytes)
    }
}
