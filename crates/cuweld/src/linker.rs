//! A link in steps: inputs of any kind are added one by one, and linked at the end.
//!
//! [`Linker`] puts together what [`inputs`](crate::inputs) and [`link()`](crate::link()) do, for programs that link while they run.

use crate::diagnostics::{Diagnostic, Entry, Failure, Message, Renderer, Report, Severity, Style};
use crate::inputs::lower::{CompileOptions, Compilers, Lowered, Object, assemble, lower};
use crate::inputs::{Code, RawInput, Skipped, Unit, Unknown, UnpackOptions, Unpacked, unpack};
use crate::kernels::{self, Kernel};
use crate::link::link_with;
use crate::observer::{Observer, Phase};
use crate::options::{KernelRoots, Options};
use crate::phases::load::{self, Demand, Input};
use std::fmt;

/// A link that is being prepared.
///
/// What an input is, is told by its contents: cubins, fatbins, host objects, archives, PTX and intermediate code can be added. An
/// input that is refused leaves the linker as it was.
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
/// What is wrong is said in values, not printed:
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
    options: Options,
    compile: CompileOptions,
    unpack: UnpackOptions,
    unpacked: Unpacked<'data>,
    ignores_host_code: bool,
    report: Report,
}

impl<'data> Linker<'data> {
    /// A link without inputs yet.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let compile = CompileOptions::new(options.target);
        Self::with_compile_options(options, compile)
    }

    /// The same, for inputs that have to be compiled.
    #[must_use]
    pub fn with_compile_options(options: Options, compile: CompileOptions) -> Self {
        let unpack = UnpackOptions {
            target: options.target,
            link_time_optimization: compile.optimization.is_some(),
            limit: None,
            unknown: Unknown::Refuse,
            warn_of_missing_code: true,
            imitations: options.imitations,
            leave_out_linked_modules: false,
            name_by_source: false,
        };
        Linker { options, compile, unpack, unpacked: Unpacked::default(), ignores_host_code: false, report: Report::default() }
    }

    /// Sets the most that one input may unpack to, in bytes.
    pub fn limit_unpacked_size(&mut self, limit: u64) {
        self.unpack.limit = Some(limit);
    }

    /// Keeps kernels although host code among the inputs does not refer to them. Otherwise, if [`Options::kernels`] names none, and all
    /// code comes from host objects, the kernels that these refer to are kept.
    pub fn ignore_host_code(&mut self) {
        self.ignores_host_code = true;
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
        Ok(self.take(Unpacked { units, modules: found.modules, host_references: found.host_references, skipped: found.skipped }))
    }

    fn open<'bytes>(&mut self, name: &str, bytes: &'bytes [u8], demand: Demand) -> Result<Unpacked<'bytes>, LinkError> {
        self.step(|linker, report| {
            let raw = RawInput { name: name.to_owned().into(), path: name.to_owned().into(), bytes, member: false, demand };
            let found = unpack(&[raw], &linker.unpack, report)?;
            for unit in &found.units {
                if let Code::Cubin(object) = &unit.code {
                    load::check(&Input::new(&unit.name, object), &linker.options, report)?;
                }
            }
            Ok(found)
        })
    }

    /// Makes a step of the link. What goes wrong in it is known from its error, and does not end later steps.
    fn step<T>(&mut self, step: impl FnOnce(&mut Self, &mut Report) -> Result<T, Failure>) -> Result<T, LinkError> {
        let mut report = self.report.fresh();
        let result = step(self, &mut report).map_err(|failure| {
            let errors = report.diagnostics().filter(|diagnostic| diagnostic.severity >= Severity::Error);
            LinkError { failure, diagnostics: errors.cloned().collect() }
        });
        self.report.append(report);
        result
    }

    fn take(&mut self, found: Unpacked<'data>) -> Added {
        let added = Added { units: found.units.len(), skipped: found.skipped };
        self.unpacked.units.extend(found.units);
        self.unpacked.host_references.merge(found.host_references);
        added
    }

    /// Compiles all PTX that was added and is not compiled yet, so that what is wrong with it is known now. PTX that can not be
    /// compiled is removed again.
    ///
    /// # Errors
    /// When a compiler refuses its input or is missing.
    pub fn assemble(&mut self, compilers: &Compilers<'_>) -> Result<(), LinkError> {
        self.step(|linker, report| assemble(&mut linker.unpacked.units, &linker.compile, compilers, report))
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
        self.step(|linker, report| {
            let Linker { unpacked, compile, .. } = &*linker;
            match observer.phase(Phase::Lower, || lower(unpacked, compile, compilers, report))?? {
                Lowered::Finished(image) => Ok(Linked { image, map: None }),
                Lowered::Objects(objects) => {
                    let inputs: Vec<Input<'_>> = objects.iter().map(Object::input).collect();
                    let mut options = linker.options.clone();
                    if matches!(options.kernels, KernelRoots::All) && !linker.ignores_host_code {
                        options.kernels = unpacked.host_references.kernel_roots().unwrap_or_default();
                    }
                    link(&inputs, &options, report, observer)
                }
            }
        })
    }

    /// The code that was added.
    #[must_use]
    pub fn units(&self) -> &[Unit<'data>] {
        &self.unpacked.units
    }

    /// Everything that was said so far.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Takes everything that was said so far, and starts anew.
    pub fn take_report(&mut self) -> Report {
        std::mem::take(&mut self.report)
    }
}

/// Why a step of a link failed. Its text is what a person is told, with every error.
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
pub struct Added {
    /// How many units of code.
    pub units: usize,
    /// What was passed over.
    pub skipped: Vec<Skipped>,
}

/// The result of a link.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Linked<Image = Vec<u8>> {
    /// The file, or what was made of it.
    pub image: Image,
    /// The map, if it was asked for.
    pub map: Option<String>,
}

/// Links `inputs`.
pub fn link(
    inputs: &[Input<'_>],
    options: &Options,
    report: &mut Report,
    observer: &mut dyn Observer,
) -> Result<Linked, Failure> {
    link_with(inputs, options, report, observer, |file, report| match file.to_vec() {
        Ok(image) => Ok(image),
        Err(error) => report.fatal(Message::Internal { text: error.to_string() }),
    })
}

impl Linked {
    /// What each kernel of the image needs, in the order of its symbols.
    ///
    /// # Errors
    /// When the image is no cubin: link-time optimization may be asked for PTX instead.
    pub fn kernels(&self) -> cubin::Result<Vec<Kernel>> {
        kernels::kernels(&self.image)
    }
}
