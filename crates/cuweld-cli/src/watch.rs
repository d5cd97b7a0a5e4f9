//! The program's observer of a link: times, the outline of the linked program, and a chance to prepare the output.

use crate::progress::Progress;
use cuweld::observer::{Observer, Outline, Phase};
use cuweld::trace::Trace;
use std::ops::ControlFlow;

/// Watches a link.
#[derive(Default)]
pub struct Watch {
    /// How long each phase takes.
    pub trace: Trace,
    /// What is known of the program, if the link got as far as to see all of it.
    pub outline: Option<Outline>,
    /// The phase that began last.
    pub reached: Option<Phase>,
    /// What is shown while code is compiled.
    pub progress: Option<Progress>,
    /// What is to be done when symbols are resolved: from then on, other threads have little to do for a while.
    pub while_resolving: Option<Box<dyn FnOnce() + Send>>,
}

impl Observer for Watch {
    fn begin(&mut self, phase: Phase) -> ControlFlow<()> {
        if let Some(errand) = self.while_resolving.take_if(|_| phase == Phase::Resolve) {
            errand();
        }
        self.reached = Some(phase);
        self.trace.begin(phase)
    }

    fn end(&mut self, phase: Phase) {
        self.trace.end(phase);
        self.progress.take_if(|_| phase == Phase::Lower);
    }

    fn outline(&mut self, outline: Outline) {
        self.outline = Some(outline);
    }
}
