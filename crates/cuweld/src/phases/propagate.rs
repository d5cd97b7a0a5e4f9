//! Propagate: what a kernel needs, given everything it calls.
//!
//! Registers and barriers of a kernel are the maximum over all it reaches; its stack is the deepest sum of frames along a call
//! path, unknown if any path can come back to where it was; the outside functions it uses are those of all it reaches. Each of
//! these flows from callees to callers, so one sweep over the components of the call graph, callees first, computes all of
//! them: every edge is looked at once, and no path is ever walked.

use super::attributes::Attributes;
use super::callgraph::CallGraph;
use super::components::Components;
use super::live::LiveSet;
use super::load::Inputs;
use super::reach;
use super::resolve::Resolution;
use crate::diagnostics::{Failure, Message, Report};
use crate::id::{FunctionId, Id, InputSectionId};
use crate::options::Options;
use std::collections::HashMap;

/// What each kernel needs.
#[derive(Debug)]
pub struct KernelProperties {
    kernels: HashMap<FunctionId, Properties>,
}

/// What one kernel needs, everything it calls included.
#[derive(Clone, Debug, Default)]
pub struct Properties {
    /// Registers.
    pub registers: u32,
    /// Bytes of stack, unless a recursion makes that unknown.
    pub stack: Option<u64>,
    /// Named barriers.
    pub barriers: u8,
    /// Functions that something outside of the link provides, and kernels that are launched from the device.
    pub externs: Vec<FunctionId>,
    /// Where the record of the externs stands.
    pub externs_place: RecordPlace,
    /// Whether a record of the barriers has to be made because the kernel itself has none.
    pub new_barrier_record: bool,
    /// If records of both are made: whether the one for externs comes first.
    pub externs_before_barriers: bool,
}

/// Where a record of a kernel stands.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub enum RecordPlace {
    /// Where the object has it.
    #[default]
    InPlace,
    /// Behind all others.
    AtEnd,
}

impl KernelProperties {
    /// What a kernel needs; `None` for functions that are no live kernels.
    pub fn of(&self, kernel: FunctionId) -> Option<&Properties> {
        self.kernels.get(&kernel)
    }
}

/// When a record was first read: objects in order, sections in order.
type Moment = Option<InputSectionId>;

/// The earlier of two moments; `None` is never.
fn earlier(a: Moment, b: Moment) -> Moment {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// An outside function, and the first record (and place in it) that names it.
type Extern = (FunctionId, InputSectionId, u32);

/// What flows through a component.
#[derive(Clone, Debug)]
struct Flow {
    registers: u32,
    barriers: u8,
    stack: Option<u64>,
    first_barrier_record: Moment,
    externs: Vec<Extern>,
}

impl Flow {
    const EMPTY: Flow = Flow { registers: 0, barriers: 0, stack: Some(0), first_barrier_record: None, externs: Vec::new() };

    /// Adds what flows in from a callee, all but the stack.
    fn absorb(&mut self, other: &Flow) {
        self.registers = self.registers.max(other.registers);
        self.barriers = self.barriers.max(other.barriers);
        self.first_barrier_record = earlier(self.first_barrier_record, other.first_barrier_record);
        for &one in &other.externs {
            self.note(one);
        }
    }

    fn note(&mut self, (function, section, position): Extern) {
        match self.externs.iter_mut().find(|(known, ..)| *known == function) {
            Some((_, first, place)) => (*first, *place) = (*first, *place).min((section, position)),
            None => self.externs.push((function, section, position)),
        }
    }

    /// The outside functions in the order in which the records name them first.
    fn externs_in_order(&self) -> Vec<FunctionId> {
        let mut externs = self.externs.clone();
        externs.sort_unstable_by_key(|&(_, section, position)| (section, position));
        externs.into_iter().map(|(function, ..)| function).collect()
    }
}

/// The facts that the sweep reads.
pub struct Facts<'facts, 'data> {
    /// The inputs.
    pub inputs: &'facts Inputs<'data>,
    /// What names mean.
    pub resolution: &'facts Resolution<'data>,
    /// Who calls whom.
    pub graph: &'facts CallGraph<'data>,
    /// The cycles of the call graph.
    pub components: &'facts Components,
    /// What stays.
    pub live: &'facts LiveSet,
    /// What each function needs by itself.
    pub attributes: &'facts Attributes,
}

/// Computes what every kernel needs, and reports what is too much.
pub fn propagate(facts: &Facts<'_, '_>, options: &Options, report: &mut Report) -> Result<KernelProperties, Failure> {
    if !options.executable() {
        return Ok(KernelProperties { kernels: HashMap::new() });
    }
    let flows = facts.sweep();
    let lone_kernel = facts.live.kernels().len() == 1;
    let whole_program = lone_kernel.then(|| facts.whole_program());
    let kernels: HashMap<FunctionId, Properties> = (facts.live.kernels().iter())
        .map(|&kernel| {
            let reached = &flows[facts.components.of(facts.graph, kernel)];
            (kernel, facts.properties(kernel, reached, whole_program.as_ref()))
        })
        .collect();
    facts.report_unknown_stacks(&flows, options, report);
    facts.report_registers(&kernels, options, report);
    Ok(KernelProperties { kernels })
}

impl Facts<'_, '_> {
    /// Whether a function is provided by something outside of the link, or launched through it.
    fn is_extern(&self, function: FunctionId) -> bool {
        self.live.contains(function)
            && (self.resolution.functions()[function].kernel || self.resolution.code(self.inputs, function).is_none())
    }

    /// What a function adds by itself.
    fn own(&self, function: FunctionId) -> Flow {
        let attributes = self.attributes.of(function);
        let mut flow = Flow {
            registers: attributes.registers,
            barriers: attributes.barriers.unwrap_or(0),
            stack: Some(attributes.frame.into()),
            ..Flow::EMPTY
        };
        if let Some((_, info)) = attributes.info {
            flow.first_barrier_record = attributes.barriers.map(|_| info);
            for (position, &function) in attributes.externs.iter().flatten().enumerate() {
                if self.is_extern(function) {
                    flow.note((function, info, position as u32));
                }
            }
        }
        flow
    }

    /// One sweep over the components, callees first.
    fn sweep(&self) -> Vec<Flow> {
        let mut flows: Vec<Flow> = Vec::with_capacity(self.components.len());
        for component in 0..self.components.len() {
            let mut flow = Flow::EMPTY;
            let mut own_frame = 0;
            let mut deepest = Some(0);
            for &node in self.components.members(component) {
                if (node as usize) < self.graph.len() {
                    let own = self.own(FunctionId::from_index(node as usize));
                    own_frame = own.stack.unwrap_or(0);
                    flow.absorb(&own);
                }
                for next in self.graph.successors(node) {
                    let next = self.components.of_node(next);
                    if next != component {
                        flow.absorb(&flows[next]);
                        deepest = deepest.zip(flows[next].stack).map(|(a, b)| a.max(b));
                    }
                }
            }
            // A component without a cycle is a single node, so its frame is the only one.
            flow.stack = deepest.filter(|_| !self.components.is_cyclic(component)).map(|deepest| deepest + own_frame);
            flows.push(flow);
        }
        flows
    }

    /// What all live functions together need. A program's only kernel is given all of it, whether it gets there or not.
    fn whole_program(&self) -> Flow {
        let mut flow = Flow::EMPTY;
        for function in self.live.functions() {
            let own = self.own(function);
            flow.barriers = flow.barriers.max(own.barriers);
            flow.first_barrier_record = earlier(flow.first_barrier_record, own.first_barrier_record);
            for &one in &own.externs {
                flow.note(one);
            }
        }
        flow
    }

    fn properties(&self, kernel: FunctionId, reached: &Flow, whole_program: Option<&Flow>) -> Properties {
        let attributes = self.attributes.of(kernel);
        let flow = whole_program.unwrap_or(reached);
        let all = flow.externs_in_order();
        let mut externs: Vec<FunctionId> =
            attributes.externs.iter().flatten().copied().filter(|&function| self.is_extern(function)).collect();
        let own_count = externs.len();
        externs.extend(
            all.iter().copied().filter(|function| !attributes.externs.as_ref().is_some_and(|own| own.contains(function))),
        );
        let grew = externs.len() > own_count;
        let mut externs_place = match attributes.externs {
            Some(_) => RecordPlace::InPlace,
            None => RecordPlace::AtEnd,
        };
        if whole_program.is_some() && grew {
            // The lone kernel's record is made anew: every name pushed in front of those before it.
            externs = all;
            externs.reverse();
            externs_place = RecordPlace::AtEnd;
        }
        let first_extern = flow.externs.iter().map(|&(_, section, _)| section).min();
        Properties {
            registers: reached.registers,
            stack: reached.stack,
            barriers: flow.barriers,
            externs,
            externs_place,
            new_barrier_record: attributes.barriers.is_none() && flow.first_barrier_record.is_some(),
            externs_before_barriers: whole_program.is_none()
                && first_extern.is_some_and(|first| flow.first_barrier_record.is_none_or(|barrier| first < barrier)),
        }
    }

    /// One warning per call of a kernel that leads to a recursion.
    fn report_unknown_stacks(&self, flows: &[Flow], options: &Options, report: &mut Report) {
        if options.suppress_stack_size_warning {
            return;
        }
        for &kernel in self.live.kernels() {
            if flows[self.components.of(self.graph, kernel)].stack.is_some() {
                continue;
            }
            for callee in self.graph.callees(kernel) {
                if flows[self.components.of(self.graph, callee)].stack.is_none() {
                    report.say(Message::UnknownStackSize { kernel: self.resolution.name(kernel).into() });
                }
            }
        }
    }

    /// Reports kernels whose register limit a callee exceeds, one message for each callee that raised the kernel's count.
    fn report_registers(&self, kernels: &HashMap<FunctionId, Properties>, _options: &Options, report: &mut Report) {
        let exceeds = |kernel: &FunctionId| {
            let attributes = self.attributes.of(*kernel);
            kernels[kernel].registers > attributes.registers.max(attributes.register_limit.unwrap_or(u32::MAX))
        };
        let exceeding: Vec<FunctionId> = self.live.kernels().iter().rev().copied().filter(exceeds).collect();
        if exceeding.is_empty() {
            return;
        }
        let reach = reach::find(self.graph, self.components, &exceeding, |function| self.live.contains(function));
        for kernel in exceeding {
            let attributes = self.attributes.of(kernel);
            let limit = attributes.register_limit.unwrap_or(u32::MAX);
            let mut current = attributes.registers;
            let mut callees: Vec<FunctionId> = reach.of(kernel).filter(|&function| function != kernel).collect();
            callees.sort_unstable_by_key(|&function| self.resolution.code(self.inputs, function).map(|(_, code)| code));
            for function in callees {
                let registers = self.attributes.of(function).registers;
                if registers > current {
                    current = registers;
                    if registers > limit {
                        report.say(Message::RegisterLimit {
                            kernel: self.resolution.name(kernel).into(),
                            limit,
                            function: self.resolution.name(function).into(),
                            registers,
                        });
                    }
                }
            }
        }
    }
}
