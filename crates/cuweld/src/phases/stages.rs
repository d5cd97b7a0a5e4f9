//! Stages: all facts up to a point of the link, for the phases that read nearly all of them.
//!
//! A stage holds references only, and the pipeline makes it when the last of its facts exists. A phase that needs a few facts takes those;
//! from the plan on, most phases need nearly all.

use super::callgraph::CallGraph;
use super::info::Info;
use super::layout::Layout;
use super::live::LiveSet;
use super::load::Inputs;
use super::merge::Plan;
use super::relocate::Relocations;
use super::resolve::Resolution;
use super::unified::Unified;
use crate::options::Options;
use std::ops::Deref;

/// What is known when the sections are planned and laid out: addresses are final.
#[derive(Copy, Clone)]
pub struct Planned<'facts, 'data> {
    /// The inputs.
    pub inputs: &'facts Inputs<'data>,
    /// The prevailing definition of every symbol.
    pub resolution: &'facts Resolution<'data>,
    /// The call graph.
    pub graph: &'facts CallGraph<'data>,
    /// The live set.
    pub live: &'facts LiveSet,
    /// The slots of unified functions and variables.
    pub unified: &'facts Unified,
    /// The output sections.
    pub plan: &'facts Plan<'data>,
    /// Offsets and sizes.
    pub layout: &'facts Layout,
    /// What was asked for.
    pub options: &'facts Options,
}

/// What is known when relocations are decided and attribute records are made: contents are final.
#[derive(Copy, Clone)]
pub struct Settled<'facts, 'data> {
    /// What was planned.
    pub planned: Planned<'facts, 'data>,
    /// What is left of the relocations.
    pub relocations: &'facts Relocations,
    /// The attribute records.
    pub info: &'facts Info,
}

impl<'facts, 'data> Deref for Settled<'facts, 'data> {
    type Target = Planned<'facts, 'data>;

    fn deref(&self) -> &Self::Target {
        &self.planned
    }
}
