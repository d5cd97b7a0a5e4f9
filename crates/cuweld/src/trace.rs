//! How long each phase took, as a trace that Chrome and Perfetto show.

use crate::diagnostics::quoted;
use crate::observer::{Observer, Phase};
use std::borrow::Cow;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// The spans of a link that it watches.
#[derive(Debug)]
pub struct Trace {
    start: Instant,
    begin: Duration,
    spans: Vec<Span>,
}

/// One span.
#[derive(Clone, Debug)]
pub struct Span {
    /// What took this long.
    pub name: Cow<'static, str>,
    /// When it began, counted from the start of the trace.
    pub begin: Duration,
    /// How long it took.
    pub duration: Duration,
}

impl Default for Trace {
    fn default() -> Self {
        Trace { start: Instant::now(), begin: Duration::ZERO, spans: Vec::new() }
    }
}

impl Observer for Trace {
    fn begin(&mut self, _phase: Phase) -> ControlFlow<()> {
        self.begin = self.start.elapsed();
        ControlFlow::Continue(())
    }

    fn end(&mut self, phase: Phase) {
        self.spans.push(Span { name: phase.name().into(), begin: self.begin, duration: self.start.elapsed() - self.begin });
    }
}

impl Trace {
    /// Records something that was timed elsewhere.
    pub fn add(&mut self, name: String, begin: Instant, duration: Duration) {
        self.spans.push(Span { name: name.into(), begin: begin.saturating_duration_since(self.start), duration });
    }

    /// The spans, in the order in which they ended.
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// The trace in Chrome's JSON format.
    pub fn to_json(&self) -> String {
        let mut json = String::from("{\"traceEvents\":[");
        for (index, span) in self.spans.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            _ = write!(
                json,
                "{separator}\n{{\"name\":{},\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":{:.3},\"dur\":{:.3}}}",
                quoted(&span.name),
                span.begin.as_secs_f64() * 1e6,
                span.duration.as_secs_f64() * 1e6
            );
        }
        json.push_str("\n]}\n");
        json
    }
}
