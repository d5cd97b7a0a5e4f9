//! Observing a link: the begin and end of each phase, an outline of the program, and cancellation.

use crate::diagnostics::Failure;
use std::ops::ControlFlow;

macro_rules! phases {
    ($($(#[$about:meta])* $phase:ident $name:literal;)*) => {
        /// The phases of a link, in the order in which they begin.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Phase {
            $($(#[$about])* $phase,)*
        }

        impl Phase {
            /// All of them, in order.
            pub const ALL: &[Phase] = &[$(Phase::$phase),*];

            /// Its name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Phase::$phase => $name,)*
                }
            }
        }
    };
}

phases! {
    /// Files are read.
    Read "read";
    /// Containers are opened.
    Unpack "unpack";
    /// What is not machine code yet is compiled.
    Lower "lower";
    /// Objects are parsed and checked.
    Load "load";
    /// Equal names get one number.
    Intern "intern";
    /// Symbols are resolved.
    Resolve "resolve";
    /// The call graph is built.
    Callgraph "callgraph";
    /// Strongly connected components of the call graph are found.
    Components "components";
    /// Unreachable code is removed.
    Live "live";
    /// References to shared variables and textures are collected.
    References "references";
    /// It is found out which entry functions reach what.
    Usage "usage";
    /// Attributes of functions are read.
    Attributes "attributes";
    /// Attributes are propagated to entry functions.
    Propagate "propagate";
    /// Unified functions and variables get their slots.
    Unified "unified";
    /// Output sections are planned.
    Merge "merge";
    /// Offsets are assigned.
    Layout "layout";
    /// The program is checked as a whole.
    Check "check";
    /// Relocations are applied or kept.
    Relocate "relocate";
    /// Attribute records are made.
    Info "info";
    /// Sections and symbols are numbered.
    Number "number";
    /// Debug information of the machine view is built.
    MachineDebug "machine debug";
    /// Headers are made.
    Finalize "finalize";
    /// The file is written.
    Write "write";
}

/// What is known about a program once all of it was seen, even if it can not be linked.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Outline {
    /// Which inputs were only there in case they are needed, and were not; in ascending order.
    pub left_out: Vec<usize>,
    /// The call graph in Graphviz's language, if it was asked for.
    pub graphviz: Option<crate::diagnostics::Expansion>,
    /// The fate of every function, if it was asked for.
    pub account: Option<crate::account::Account>,
}

/// Is told of the progress of a link. `()` is an observer that ignores it.
///
/// Phases begin one after the other, on the thread that called the linker or on one of its pool.
pub trait Observer: Send {
    /// A phase begins. [`ControlFlow::Break`] ends the link instead, with [`Failure::Cancelled`].
    fn begin(&mut self, phase: Phase) -> ControlFlow<()> {
        _ = phase;
        ControlFlow::Continue(())
    }

    /// A phase has ended.
    fn end(&mut self, phase: Phase) {
        _ = phase;
    }

    /// The program is known as a whole.
    fn outline(&mut self, outline: Outline) {
        _ = outline;
    }
}

impl Observer for () {}

/// For those who want to know nothing else.
impl Observer for Outline {
    fn outline(&mut self, outline: Outline) {
        *self = outline;
    }
}

impl dyn Observer + '_ {
    /// Runs a phase, unless the observer ends the link before it.
    ///
    /// # Errors
    /// When the link is cancelled.
    pub fn phase<T>(&mut self, phase: Phase, run: impl FnOnce() -> T) -> Result<T, Failure> {
        if self.begin(phase).is_break() {
            return Err(Failure::Cancelled);
        }
        let result = run();
        self.end(phase);
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_is_cancelled_runs_no_further_phase() {
        struct Stop(Vec<Phase>);
        impl Observer for Stop {
            fn begin(&mut self, phase: Phase) -> ControlFlow<()> {
                self.0.push(phase);
                if phase == Phase::Resolve { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            }
        }
        let mut stop = Stop(Vec::new());
        let observer: &mut dyn Observer = &mut stop;
        assert_eq!(observer.phase(Phase::Intern, || 1), Ok(1));
        assert_eq!(observer.phase(Phase::Resolve, || 2), Err(Failure::Cancelled));
        assert_eq!(stop.0, [Phase::Intern, Phase::Resolve]);
    }
}
