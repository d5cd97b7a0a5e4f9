//! Propagate: what an entry function needs, given everything that it reaches.
//!
//! # The problem
//!
//! The driver prepares a launch from the attributes of the kernel alone: how many registers a thread gets, how large its stack is, which
//! barriers it uses. The compiler saw one unit, and knows nothing of functions in others. So the linker has to give each kernel the
//! attributes of all functions that it reaches:
//!
//! * registers and barriers: the maximum;
//! * stack: the largest sum of frames along a call path, unknown if a path leads back to a function on it (recursion);
//! * return stack, external functions, fragments, languages: sums and unions.
//!
//! # The algorithm
//!
//! Each of these is computed from the values of the callees, so one sweep over the strongly connected components of the call graph, callees
//! first, is enough: every edge is looked at once. The reference linker enumerates call paths, of which there can be exponentially many.
//! Only the few attributes that are lists need to know the functions themselves. Which attributes are propagated, and how they are combined,
//! is a table ([`PROPAGATED`]).
//!
//! A program's only entry function is treated as if it reached all live code.

mod externs;
mod older;

use super::attributes::{Attributes, Moment, PropagatedValue, moment_of_flags};
use super::callgraph::CallGraph;
use super::components::Components;
use super::explain;
use super::image_size::Room;
use super::live::LiveSet;
use super::load::Inputs;
use super::resolve::Resolution;
use super::usage::Usage;
use crate::diagnostics::{Failure, Message, Report};
use crate::id::{FunctionId, Id, IdMap, IdSet};
use crate::imitations::Imitation;
use crate::options::Options;
use crate::propagated::{Combine, PROPAGATED, propagated_row};
use cubin::info::Attribute;
use cubin::release::Rule;
use externs::{EXTERN_SIZE, Externs, List};
use std::collections::HashSet;

/// What each kernel needs.
#[derive(Debug)]
pub struct KernelProperties {
    kernels: IdMap<FunctionId, Properties>,
    stubs: StubProperties,
}

/// What the stubs of unified functions need: other programs enter there. Nothing, if there is but one kernel.
#[derive(Clone, Debug, Default)]
pub struct StubProperties {
    /// The stack that each of them needs, unless a recursion makes that unknown.
    pub stacks: Vec<(FunctionId, Option<u64>)>,
    /// Rows of [`PROPAGATED`] and values that the common section of stubs records, one stub after the other.
    pub values: Vec<(usize, u16)>,
}

/// What one kernel needs, everything it calls included.
#[derive(Clone, Debug, Default)]
pub struct Properties {
    /// Registers.
    pub registers: u32,
    /// Bytes of stack, unless a recursion makes that unknown.
    pub stack: Option<u64>,
    /// Bytes of the stack for returns and reconvergence, likewise.
    pub return_stack: Option<u64>,
    /// Which sparse matrix instructions are used, where that is known of any function.
    pub sparsity: u16,
    /// Values of propagated attributes, by row of [`PROPAGATED`].
    pub values: [Option<u16>; PROPAGATED.len()],
    /// Functions that something outside of the link provides, and kernels that are launched from the device.
    pub externs: Vec<FunctionId>,
    /// Words of entry fragments.
    pub fragments: Vec<u32>,
    /// Languages, unless all functions are of one.
    pub languages: Vec<u32>,
    /// The rows of [`PROPAGATED`] whose records are rebuilt, after all others, although the kernel has one.
    pub moved: [bool; PROPAGATED.len()],
    /// Whether the flags of the kernel's section go on to say how many barriers it uses itself.
    pub keeps_barriers_of_section: bool,
    /// The rows of [`PROPAGATED`] that the kernel has no record of, in the order in which records are made.
    pub new_records: Vec<usize>,
}

impl KernelProperties {
    /// What a kernel needs; `None` for functions that are no live kernels.
    pub fn of(&self, kernel: FunctionId) -> Option<&Properties> {
        self.kernels.get(&kernel)
    }

    /// What the stubs of unified functions need.
    pub fn stubs(&self) -> &StubProperties {
        &self.stubs
    }
}

/// The sparse matrix instructions that a function without a record of them may use.
pub const UNKNOWN_SPARSITY: u16 = 0x8000;

/// What entry functions take over from the functions of a component, and from those that they reach.
#[derive(Clone, Debug)]
struct Flow {
    registers: u32,
    stack: Option<u64>,
    return_stack: Option<u64>,
    sparsity: u16,
    /// Row of [`PROPAGATED`], value, and the first record of it.
    values: Vec<(usize, u16, Moment)>,
    /// The outside functions that are used. A component that adds none shares the list of what it calls.
    externs: Option<List>,
}

impl Flow {
    fn empty() -> Self {
        Flow { registers: 0, stack: Some(0), return_stack: Some(0), sparsity: 0, values: Vec::new(), externs: None }
    }

    /// Adds what a callee passes on, all but the stacks and the outside functions.
    fn absorb(&mut self, other: &Flow) {
        self.registers = self.registers.max(other.registers);
        self.sparsity |= other.sparsity;
        for &(row, value, moment) in &other.values {
            self.note_value(row, value, moment);
        }
    }

    fn note_value(&mut self, row: usize, value: u16, moment: Moment) {
        // Of a list, each number is a value of its own.
        let is_list = PROPAGATED[row].combine == Combine::Numbers;
        match self.values.iter_mut().find(|(known, most, _)| *known == row && (!is_list || *most == value)) {
            Some((_, most, first)) => (*most, *first) = ((*most).max(value), (*first).min(moment)),
            None => self.values.push((row, value, moment)),
        }
    }
}

/// The facts that the sweep reads.
pub struct Facts<'facts, 'data> {
    /// The inputs.
    pub inputs: &'facts Inputs<'data>,
    /// The prevailing definition of every symbol.
    pub resolution: &'facts Resolution<'data>,
    /// The call graph.
    pub graph: &'facts CallGraph<'data>,
    /// The strongly connected components of the call graph.
    pub components: &'facts Components,
    /// The live set: functions reachable from the GC roots.
    pub live: &'facts LiveSet,
    /// Which entry functions reach what.
    pub usage: &'facts Usage<'facts, 'data>,
    /// What each function needs by itself.
    pub attributes: &'facts Attributes,
    /// How large the result may be.
    pub room: Room,
}

/// Computes what every kernel needs, and warns where that is unknown.
pub fn propagate(facts: &Facts<'_, '_>, options: &Options, report: &mut Report) -> Result<KernelProperties, Failure> {
    if !options.knows_all_callees() {
        return Ok(KernelProperties { kernels: IdMap::default(), stubs: StubProperties::default() });
    }
    // Lists of outside functions can take the product of kernels and functions. What is too large for a file is not made first.
    let mut externs = Externs::find(facts);
    let flows = facts.sweep(&mut externs, |size| facts.room.check(size, report))?;
    let whole_program = facts.usage.lone_kernel().map(|_| facts.whole_program(&mut externs));
    let reached = |kernel: FunctionId| &flows[facts.components.of(facts.graph, kernel)];
    let lists = facts.live.kernels().iter().filter_map(|&kernel| reached(kernel).externs.as_ref());
    facts.room.check(lists.map(|list| EXTERN_SIZE * list.len() as u64).sum(), report)?;
    let mut kernels: IdMap<FunctionId, Properties> = (facts.live.kernels().iter())
        .map(|&kernel| {
            let (whole_program, imitate) = (whole_program.as_ref(), options.imitates(Imitation::LoneKernelKeepsItsOwn));
            (kernel, facts.properties(kernel, reached(kernel), whole_program, &externs, imitate))
        })
        .collect();
    facts.add_sums_and_lists(&mut kernels);
    if options.imitates(Imitation::BarriersOfOldKernels) {
        kernels.iter_mut().for_each(|(&kernel, properties)| facts.forget_old_barriers(kernel, &flows, properties));
    }
    facts.report_unknown_stacks(&flows, options, report);
    let stubs = facts.stubs(&flows);
    Ok(KernelProperties { kernels, stubs })
}

impl Facts<'_, '_> {
    /// Adds what a function needs by itself, all but the stacks and the outside functions.
    fn add_own(&self, function: FunctionId, flow: &mut Flow) {
        let attributes = self.attributes.of(function);
        let is_defined = || self.resolution.code(self.inputs, function).is_some();
        flow.registers = flow.registers.max(attributes.registers);
        flow.sparsity |= match attributes.sparsity {
            Some(mask) => mask,
            None if self.live.contains(function) && is_defined() && !self.live.is_stub(function) => UNKNOWN_SPARSITY,
            None => 0,
        };
        for &PropagatedValue { row, largest, first, .. } in self.attributes.propagated(function) {
            if PROPAGATED[row].combine != Combine::Numbers || !self.attributes.languages_agree() {
                flow.note_value(row, largest, first);
            }
        }
    }

    /// One sweep over the components, callees first; ends when lists have too many bytes.
    fn sweep(&self, all: &mut Externs, mut check_size: impl FnMut(u64) -> Result<(), Failure>) -> Result<Vec<Flow>, Failure> {
        let mut flows: Vec<Flow> = Vec::with_capacity(self.components.len());
        let mut callers_left = if all.is_empty() { Vec::new() } else { self.calls_to_components() };
        for component in 0..self.components.len() {
            let mut flow = Flow::empty();
            let mut externs = Vec::new();
            let (mut frame, mut return_frame, mut is_unknown) = (0, 0, false);
            let (mut deepest, mut deepest_return) = (Some(0), Some(0));
            let deeper = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a.max(b));
            for &node in self.components.members(component) {
                if (node as usize) < self.graph.len() {
                    let function = FunctionId::from_index(node as usize);
                    let attributes = self.attributes.of(function);
                    (frame, return_frame) = (attributes.frame.into(), attributes.return_stack.unwrap_or(0).into());
                    is_unknown |= attributes.unknown_stack;
                    self.add_own(function, &mut flow);
                    externs.extend(all.own(function));
                }
                for next in self.graph.successors(node) {
                    let next = self.components.of_node(next);
                    if next != component {
                        flow.absorb(&flows[next]);
                        if flows[next].externs.is_some() {
                            callers_left[next] -= 1;
                            // Lists can be long and many; a last caller takes them over.
                            let list = &mut flows[next].externs;
                            externs.extend(if callers_left[next] == 0 { list.take() } else { list.clone() });
                        }
                        deepest = deeper(deepest, flows[next].stack);
                        deepest_return = deeper(deepest_return, flows[next].return_stack);
                    }
                }
            }
            // A component without a cycle is a single node, so its frame is the only one.
            let known = !self.components.is_cyclic(component) && !is_unknown;
            flow.stack = deepest.filter(|_| known).map(|deepest| deepest + frame);
            flow.return_stack = deepest_return.filter(|_| known).map(|deepest| deepest + return_frame);
            flow.externs = all.join(externs);
            check_size(all.size())?;
            flows.push(flow);
        }
        Ok(flows)
    }

    /// How often each component is called from others; once more for kernels, which are asked for in the end.
    fn calls_to_components(&self) -> Vec<u32> {
        let mut calls = vec![0u32; self.components.len()];
        for component in 0..self.components.len() {
            for &node in self.components.members(component) {
                for next in self.graph.successors(node).map(|next| self.components.of_node(next)) {
                    calls[next] += u32::from(next != component);
                }
            }
        }
        for &kernel in self.live.kernels() {
            calls[self.components.of(self.graph, kernel)] += 1;
        }
        calls
    }

    /// What all live functions together need.
    fn whole_program(&self, all: &mut Externs) -> Flow {
        let mut flow = Flow::empty();
        self.live.functions().for_each(|function| self.add_own(function, &mut flow));
        flow.externs = all.join(self.live.functions().filter_map(|function| all.own(function)).collect());
        flow
    }

    fn properties(
        &self,
        kernel: FunctionId,
        reached: &Flow,
        whole_program: Option<&Flow>,
        externs: &Externs,
        lone_keeps_own: bool,
    ) -> Properties {
        let attributes = self.attributes.of(kernel);
        let flow = whole_program.unwrap_or(reached);
        let all: Vec<FunctionId> = flow.externs.iter().flat_map(|list| externs.functions(list)).collect();
        let own = attributes.externs.as_deref().unwrap_or_default();
        let (externs, externs_grow) = self.externs(own, all, whole_program.is_some());
        let (languages, own_languages) = self.languages(kernel, flow);
        // The reference linker does not raise these two of a lone kernel, as it does for one of several.
        let keeps_own = whole_program.is_some() && lone_keeps_own;
        let own_sparsity = attributes.sparsity.filter(|_| keeps_own).map(|own| own | (flow.sparsity & UNKNOWN_SPARSITY));
        let (mut values, mut moved) = ([None; PROPAGATED.len()], [false; PROPAGATED.len()]);
        let mut missing: Vec<(usize, Moment)> = Vec::new();
        for &(row, value, moment) in &flow.values {
            let own = self
                .attributes
                .value(kernel, row)
                .filter(|_| keeps_own && PROPAGATED[row].attribute == Attribute::VRC_CTA_INIT_COUNT);
            values[row] = own.or(Some(value));
            let has_record = self.attributes.has_record(kernel, row);
            if !has_record && value == 0 && whole_program.is_some() && is_silent_if_zero(row) {
                continue;
            }
            // A lone kernel's list is rebuilt if it grows.
            moved[row] = has_record
                && match PROPAGATED[row].combine {
                    Combine::Functions => whole_program.is_some() && externs_grow,
                    Combine::Numbers => whole_program.is_some() && languages.len() > own_languages,
                    _ => false,
                };
            if !has_record || moved[row] {
                missing.push((row, moment));
            }
        }
        match whole_program {
            Some(_) => missing.sort_unstable_by_key(|&(row, moment)| (moment == moment_of_flags(), row)),
            None => missing.sort_unstable_by_key(|&(_, moment)| moment),
        }
        Properties {
            registers: reached.registers,
            stack: reached.stack,
            return_stack: reached.return_stack,
            sparsity: own_sparsity.unwrap_or(flow.sparsity),
            values,
            externs,
            fragments: Vec::new(),
            languages,
            moved,
            keeps_barriers_of_section: false,
            new_records: rows_once(missing),
        }
    }

    /// The functions from outside of the link that a kernel uses, and whether those that it lists itself are fewer. Of a lone kernel with
    /// a list that grows, every name is pushed before those before it.
    fn externs(&self, own: &[FunctionId], all: Vec<FunctionId>, is_lone: bool) -> (Vec<FunctionId>, bool) {
        let mut externs: Vec<FunctionId> =
            own.iter().copied().filter(|&function| self.live.is_extern(self.inputs, self.resolution, function)).collect();
        let own_count = externs.len();
        let known: IdSet<FunctionId> = own.iter().copied().collect();
        externs.extend(all.iter().copied().filter(|function| !known.contains(function)));
        let grows = externs.len() > own_count;
        if is_lone && grows {
            externs = all;
            if !self.inputs.release().has(Rule::ExternsAscend) {
                externs.reverse();
            }
        }
        (externs, grows)
    }

    fn stubs(&self, flows: &[Flow]) -> StubProperties {
        let mut properties = StubProperties::default();
        let mut values = Vec::new();
        for &stub in self.live.entries().iter().filter(|&&entry| self.live.is_stub(entry)) {
            let flow = &flows[self.components.of(self.graph, stub)];
            properties.stacks.push((stub, flow.stack));
            // The section belongs to the first stub, so only its records are found there.
            let is_first = properties.stacks.len() == 1;
            let is_known = |row: usize| is_first && self.attributes.has_record(stub, row);
            let largest = flow.values.iter().filter(|(row, ..)| PROPAGATED[*row].combine == Combine::Largest);
            values.extend(largest.filter(|(row, ..)| !is_known(*row)).copied());
        }
        // In the order in which they were read; the same record is written for the newest stub first.
        values.reverse();
        values.sort_by_key(|&(_, _, moment)| moment);
        properties.values = values.into_iter().map(|(row, value, _)| (row, value)).collect();
        properties
    }

    /// Adds the attributes for which it matters which functions a kernel reaches.
    fn add_sums_and_lists(&self, kernels: &mut IdMap<FunctionId, Properties>) {
        let needs_functions = |row: usize| matches!(PROPAGATED[row].combine, Combine::Sum | Combine::Last | Combine::Words);
        let matters: Vec<bool> = (self.resolution.functions().ids())
            .map(|function| self.attributes.propagated(function).iter().any(|known| needs_functions(known.row)))
            .collect();
        if !matters.contains(&true) {
            return;
        }
        let reach = self.usage.of_kernels(|function| matters[function.index()]);
        let lone_kernel = self.usage.lone_kernel().is_some();
        for &kernel in self.live.kernels() {
            let Some(properties) = kernels.get_mut(&kernel) else { continue };
            let mut functions: Vec<FunctionId> = match lone_kernel {
                true => self.live.functions().filter(|&function| function != kernel).collect(),
                false => reach.of(kernel).filter(|&function| function != kernel).collect(),
            };
            functions.sort_unstable_by_key(|&function| self.attributes.of(function).info);
            // The kernel's own come first, whenever they were read.
            functions.insert(0, kernel);
            for (row, propagated) in PROPAGATED.iter().enumerate().filter(|&(row, _)| needs_functions(row)) {
                let mut values = functions.iter().filter_map(|&function| self.attributes.value(function, row));
                properties.values[row] = match propagated.combine {
                    Combine::Sum => values.reduce(u16::saturating_add),
                    _ => values.next_back(),
                };
            }
            let mut known = HashSet::new();
            let words = functions.iter().flat_map(|&function| &self.attributes.of(function).fragments).copied();
            properties.fragments.extend(words.filter(|&word| known.insert(word)));
            let own = self.attributes.of(kernel).fragments.len();
            if let (true, Some(row)) = (lone_kernel && own > 0, propagated_row(Attribute::AT_ENTRY_FRAGMENTS)) {
                properties.moved[row] = properties.fragments.len() > own;
                if properties.moved[row] {
                    properties.new_records.push(row);
                    properties.new_records.sort_unstable();
                }
            }
        }
    }

    /// Warns of kernels that lead to a recursion: of all at once, or once per call.
    fn report_unknown_stacks(&self, flows: &[Flow], options: &Options, report: &mut Report) {
        if options.suppress_stack_size_warning {
            return;
        }
        let is_unknown = |kernel: &FunctionId| flows[self.components.of(self.graph, *kernel)].stack.is_none();
        let is_entered = |entry: &FunctionId| self.live.is_stub(*entry) || self.live.kernels().binary_search(entry).is_ok();
        let entries = self.live.entries().iter().copied().filter(is_entered);
        let kernels: Vec<FunctionId> = entries.filter(is_unknown).collect();
        if !options.stack_warning_per_call {
            if let Some(diagnostic) = explain::stack::describe(&kernels, self.graph, self.components, self.resolution) {
                report.add(diagnostic);
            }
            return;
        }
        for kernel in kernels {
            for callee in self.graph.callees(kernel) {
                if flows[self.components.of(self.graph, callee)].stack.is_none() {
                    report.say(Message::UnknownStackSize { kernel: self.resolution.name(kernel).into() });
                }
            }
        }
    }
}

/// The rows, each once: a list has a value for each number, and one record.
fn rows_once(missing: Vec<(usize, Moment)>) -> Vec<usize> {
    let mut rows = Vec::with_capacity(missing.len());
    for (row, _) in missing {
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    rows
}

/// Whether a lone kernel gets no record of an attribute that comes to nothing.
fn is_silent_if_zero(row: usize) -> bool {
    matches!(PROPAGATED[row].attribute, Attribute::NUM_BARRIERS | Attribute::NUM_MBARRIERS)
}

/// The row of the named barriers.
pub fn barriers(properties: &Properties) -> Option<u16> {
    propagated_row(Attribute::NUM_BARRIERS).and_then(|row| properties.values[row])
}
