//! A link in steps: inputs of any kind are added one by one, and linked at the end.
//!
//! [`Linker`] is the session that the program, the C library and Rust programs link with.

use crate::diagnostics::{Diagnostic, Entry, Failure, Message, Renderer, Report, Severity, Style};
use crate::inputs::elsewhere::explain_missing_names;
use crate::inputs::lower::{Compilers, Lowered, Object, assemble, lower, name_the_units};
use crate::inputs::{Code, Module, OpenInputs, RawInput, Skipped, Unit, Unpacked};
use crate::link as pipeline;
use crate::linked::{Linked, Product};
use crate::observer::{Observer, Outline, Phase};
use crate::phases::load::{self, Demand, Input};
use crate::request::Request;
use std::fmt;
use std::ops::ControlFlow;

/// A link that is being prepared.
///
/// The format of an input is identified by its contents: cubins, fatbins, host objects, archives, PTX and LTO-IR can be added. A
/// rejected input leaves the linker unchanged.
///
/// # Examples
///
/// Two units that were compiled apart become one program:
///
/// ```
/// use cuweld::{Linker, options::Options, target::Target};
///
/// let target = Target::by_name("sm_90").ok_or("not a target")?;
/// let mut linker = Linker::new(Options::new(target));
/// # let kernel = include_bytes!("../../../examples/two_units/kernel.cubin");
/// # let scale = include_bytes!("../../../examples/two_units/scale.cubin");
/// linker.add("kernel.cubin", kernel)?;
/// linker.add("scale.cubin", scale)?;
/// let linked = linker.link()?;
/// assert!(linked.image.starts_with(b"\x7fELF"));
///
/// let kernel = &linked.kernels()?[0];
/// assert_eq!((kernel.name.as_str(), kernel.registers), ("_Z9scale_allPfi", 24));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Errors are values, not printed:
///
/// ```
/// use cuweld::{Linker, diagnostics::Message, options::Options, target::Target};
///
/// let target = Target::by_name("sm_90").ok_or("not a target")?;
/// let mut linker = Linker::new(Options::new(target));
/// # let kernel = include_bytes!("../../../examples/two_units/kernel.cubin");
/// linker.add("kernel.cubin", kernel)?;
/// let error = linker.link().expect_err("a function is missing");
/// let missing = error.diagnostics().iter().find_map(|diagnostic| match &diagnostic.message {
///     Message::UndefinedReference { name, file } => Some((name.as_str(), file.as_str())),
///     _ => None,
/// });
/// assert_eq!(missing, Some(("_Z5scalef", "kernel.cubin")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Linker<'data> {
    request: Request,
    unpacked: Unpacked<'data>,
    /// The units that took no part in the last link, in ascending order.
    left_out: Vec<usize>,
    report: Report,
    /// How many entries of the report were there when a step failed last.
    told: usize,
}

impl<'data> Linker<'data> {
    /// A link without inputs yet. [`Options`](crate::options::Options) alone ask for a link of machine code.
    #[must_use]
    pub fn new(request: impl Into<Request>) -> Self {
        let (request, unpacked, report) = (request.into(), Unpacked::default(), Report::default());
        Linker { request, unpacked, left_out: Vec::new(), report, told: 0 }
    }

    /// Goes on with a report that was begun elsewhere, and with its policy on warnings.
    #[must_use]
    pub fn reporting_to(self, report: Report) -> Self {
        Linker { told: report.entries().len(), report, ..self }
    }

    /// Adds an input. The name is for messages.
    ///
    /// Its code for the target is found and checked now; what has to be compiled is compiled by
    /// [`assemble`](Self::assemble) or at the end.
    ///
    /// # Errors
    /// When the input is damaged or not for the target.
    pub fn add(&mut self, name: &str, bytes: &'data [u8]) -> Result<Added, LinkError> {
        let found = self.open(name, bytes, Demand::Always)?;
        Ok(self.take(found))
    }

    /// Adds an input whose objects take part only if they define a symbol that is undefined without them: the way other linkers take
    /// members of archives.
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    pub fn add_if_needed(&mut self, name: &str, bytes: &'data [u8]) -> Result<Added, LinkError> {
        let found = self.open(name, bytes, Demand::Definition)?;
        Ok(self.take(found))
    }

    /// The same, for bytes that are gone when the link is made.
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    pub fn add_copy(&mut self, name: &str, bytes: &[u8]) -> Result<Added, LinkError> {
        let mut found = self.open(name, bytes, Demand::Always)?;
        let units = std::mem::take(&mut found.units).into_iter().map(Unit::into_owned).collect();
        let Unpacked { modules, host_references, skipped, .. } = found;
        Ok(self.take(Unpacked { units, modules, host_references, skipped }))
    }

    /// Adds any number of inputs, on all threads. Objects among them are checked when they are linked.
    ///
    /// # Errors
    /// When one of them is damaged, or none may be without code for the target.
    pub fn add_all(&mut self, inputs: &[RawInput<'data>]) -> Result<(), LinkError> {
        let found = self.step(|linker, report| unpack(inputs, &linker.request, report))?;
        self.take(found);
        Ok(())
    }

    /// The same with inputs that were opened for links for several targets.
    ///
    /// # Errors
    /// As for [`add_all`](Self::add_all).
    pub fn add_opened(&mut self, inputs: &OpenInputs<'data>) -> Result<(), LinkError> {
        let found = self.step(|linker, report| inputs.unpack(&linker.request, report))?;
        self.take(found);
        Ok(())
    }

    fn open<'bytes>(&mut self, name: &str, bytes: &'bytes [u8], demand: Demand) -> Result<Unpacked<'bytes>, LinkError> {
        self.step(|linker, report| {
            let raw = RawInput { demand, ..RawInput::new(name.to_owned(), bytes) };
            let found = unpack(&[raw], &linker.request, report)?;
            for unit in &found.units {
                if let Code::Cubin(object) = &unit.code {
                    load::check(&Input::new(&unit.name, object), &linker.request.options, report)?;
                }
            }
            Ok(found)
        })
    }

    /// Makes a step of the link. Errors that end it do not end later steps.
    fn step<T>(&mut self, step: impl FnOnce(&mut Self, &mut Report) -> Result<T, Failure>) -> Result<T, LinkError> {
        let mut report = std::mem::take(&mut self.report);
        let result = step(self, &mut report).map_err(|failure| {
            report.settle_errors();
            let is_error = |diagnostic: &&Diagnostic| diagnostic.severity >= Severity::Error;
            let untold = report.entries().get(self.told..).unwrap_or_default().iter().filter_map(Entry::diagnostic);
            let diagnostics = untold.filter(is_error).cloned().collect();
            self.told = report.entries().len();
            LinkError { failure, diagnostics }
        });
        self.report = report;
        result
    }

    fn take(&mut self, found: Unpacked<'data>) -> Added {
        let added = Added { units: found.units.len(), skipped: found.skipped.clone() };
        self.unpacked.append(found);
        added
    }

    /// Compiles all PTX that was added and is not compiled yet, so that what is wrong with it is known now. PTX that can not be
    /// compiled is removed again.
    ///
    /// # Errors
    /// When a compiler refuses its input or is missing.
    pub fn assemble(&mut self, compilers: &Compilers<'_>) -> Result<(), LinkError> {
        self.step(|linker, report| assemble(&mut linker.unpacked, &linker.request.compile, compilers, report))
    }

    /// Links, with inputs that are machine code already.
    ///
    /// # Errors
    /// When the inputs make no program. No image is made then.
    pub fn link(&mut self) -> Result<Linked, LinkError> {
        self.link_with(&Compilers::NONE)
    }

    /// Links, and compiles what is not machine code yet.
    ///
    /// # Errors
    /// As for [`link`](Self::link).
    pub fn link_with(&mut self, compilers: &Compilers<'_>) -> Result<Linked, LinkError> {
        self.link_observed(compilers, &mut ())
    }

    /// Links, compiles what is not machine code yet, and lets `observer` see how it gets on.
    ///
    /// # Errors
    /// As for [`link`](Self::link), and when the observer cancels the link.
    pub fn link_observed(&mut self, compilers: &Compilers<'_>, observer: &mut dyn Observer) -> Result<Linked, LinkError> {
        self.link_into(compilers, observer, |product, report| {
            product.to_vec().or_else(|error| report.fatal(Message::Internal { text: error.to_string() }))
        })
    }

    /// The same, for an image that need not be in memory as a whole: `save` writes it.
    ///
    /// # Errors
    /// As for [`link_observed`](Self::link_observed), and when `save` fails.
    pub fn link_into<Image>(
        &mut self,
        compilers: &Compilers<'_>,
        observer: &mut dyn Observer,
        save: impl FnOnce(&Product<'_>, &mut Report) -> Result<Image, Failure>,
    ) -> Result<Linked<Image>, LinkError> {
        self.step(|Linker { request, unpacked, left_out, .. }, report| {
            left_out.clear();
            match observer.phase(Phase::Lower, || lower(unpacked, &request.compile, compilers, report))?? {
                Lowered::Finished(image) => {
                    // A whole program, in which nothing is missing that the device runtime library could have.
                    left_out.extend(unpacked.runtime_units());
                    Ok(Linked { image: save(&Product::Compiled(&image), report)?, map: None })
                }
                Lowered::Objects { objects, was_whole } => {
                    let inputs: Vec<Input<'_>> = objects.iter().map(Object::input).collect();
                    let mut noting = Noting { observer, left_out: Vec::new() };
                    let options = unpacked.host_references.complete(&request.options, was_whole);
                    let linked = pipeline::link_with(&inputs, &options, report, &mut noting, |finished, report| {
                        save(&Product::Linked(finished), report)
                    });
                    left_out.extend(noting.left_out.iter().filter_map(|&object| objects.get(object)?.unit));
                    linked
                }
            }
        })
    }

    /// After a link that failed: adds to undefined names in the report where the inputs define them, if they do so in code that could
    /// not be used, and which units need them, where the optimizer made one object of several. Does nothing unless
    /// [`CompileOptions::explain_undefined`](crate::inputs::lower::CompileOptions) asks for it.
    pub fn explain_undefined(&mut self, inputs: &OpenInputs<'_>, compilers: &Compilers<'_>) {
        if !self.request.compile.explain_undefined {
            return;
        }
        name_the_units(&self.unpacked, &self.request.compile, compilers, &mut self.report);
        explain_missing_names(inputs, self.request.options.target, &mut self.report);
    }

    /// The code that was added.
    #[must_use]
    pub fn units(&self) -> &[Unit<'data>] {
        &self.unpacked.units
    }

    /// The code that was there in case it is needed, and took no part in the last link.
    pub fn units_left_out(&self) -> impl Iterator<Item = &Unit<'data>> {
        self.left_out.iter().filter_map(|&unit| self.unpacked.units.get(unit))
    }

    /// The modules that took part in the last link, in link order. The host's part of the program registers them.
    pub fn modules(&self) -> impl Iterator<Item = &Module> {
        let took_part = |unit: usize| self.left_out.binary_search(&unit).is_err();
        let modules = self.unpacked.modules.iter();
        modules.filter(move |module| module.demand == Demand::Always || module.units.clone().any(took_part))
    }

    /// What was passed over.
    #[must_use]
    pub fn skipped(&self) -> &[Skipped] {
        &self.unpacked.skipped
    }

    /// Everything that was said so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// The same, for callers who have something to say between two steps.
    pub fn report_mut(&mut self) -> &mut Report {
        &mut self.report
    }

    /// Takes everything that was said so far, and starts anew.
    pub fn take_report(&mut self) -> Report {
        self.told = 0;
        std::mem::take(&mut self.report)
    }
}

/// Opens inputs, and takes what is for the target.
fn unpack<'data>(inputs: &[RawInput<'data>], request: &Request, report: &mut Report) -> Result<Unpacked<'data>, Failure> {
    match OpenInputs::open(inputs, request.unpack.unknown) {
        Ok(opened) => opened.unpack(request, report),
        Err(message) => report.fatal(*message),
    }
}

/// Notes which objects took no part, and passes everything on.
struct Noting<'observer> {
    observer: &'observer mut dyn Observer,
    left_out: Vec<usize>,
}

impl Observer for Noting<'_> {
    fn begin(&mut self, phase: Phase) -> ControlFlow<()> {
        self.observer.begin(phase)
    }

    fn end(&mut self, phase: Phase) {
        self.observer.end(phase);
    }

    fn outline(&mut self, outline: Outline) {
        self.left_out.clone_from(&outline.left_out);
        self.observer.outline(outline);
    }
}

/// Why a step of a link failed. Its text has every error, as printed for people.
#[derive(Clone)]
pub struct LinkError {
    failure: Failure,
    diagnostics: Vec<Diagnostic>,
}

impl LinkError {
    /// In which way it failed.
    #[must_use]
    pub fn failure(&self) -> Failure {
        self.failure
    }

    /// The errors.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let renderer = Renderer { style: Style::Rich, tool: String::new(), target: None };
        write!(out, "{}", self.failure)?;
        self.diagnostics
            .iter()
            .try_for_each(|diagnostic| write!(out, "\n{}", renderer.render(&Entry::Diagnostic(diagnostic.clone())).trim_end()))
    }
}

/// As for people: this is what is printed when it is returned from `main`.
impl fmt::Debug for LinkError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl std::error::Error for LinkError {}

/// What an input added to a link.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Added {
    /// How many units of code.
    pub units: usize,
    /// What was passed over.
    pub skipped: Vec<Skipped>,
}
