//! A link in steps: inputs of any kind are added one by one, and linked at the end.
//!
//! [`Linker`] puts together what [`inputs`](crate::inputs) and [`link()`](crate::link()) do, for programs that link while they run.

use crate::diagnostics::{Failure, Message, Report};
use crate::inputs::lower::{CompileOptions, Compilers, Lowered, Object, assemble, lower};
use crate::inputs::{Code, RawInput, Skipped, Unit, Unknown, UnpackOptions, Unpacked, unpack};
use crate::kernels::{self, Kernel};
use crate::link::link_with;
use crate::options::Options;
use crate::phases::load::{self, Demand, Input};
use crate::trace::Trace;

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
/// assert!(linker.link().is_err());
/// let missing = linker.report().diagnostics().find_map(|diagnostic| match &diagnostic.message {
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
        };
        Linker { options, compile, unpack, unpacked: Unpacked::default(), report: Report::default() }
    }

    /// Sets the most that one input may unpack to, in bytes.
    pub fn limit_unpacked_size(&mut self, limit: u64) {
        self.unpack.limit = Some(limit);
    }

    /// Adds an input. The name is for messages.
    ///
    /// Its code for the target is found and checked now; what has to be compiled is compiled by
    /// [`assemble`](Self::assemble) or at the end.
    ///
    /// # Errors
    /// When the input is damaged or not for the target.
    pub fn add(&mut self, name: &str, bytes: &'data [u8]) -> Result<Added, Failure> {
        let found = self.open(name, bytes)?;
        Ok(self.take(found))
    }

    /// The same, for bytes that are gone when the link is made.
    ///
    /// # Errors
    /// As for [`add`](Self::add).
    pub fn add_copy(&mut self, name: &str, bytes: &[u8]) -> Result<Added, Failure> {
        let mut found = self.open(name, bytes)?;
        let units = std::mem::take(&mut found.units).into_iter().map(Unit::into_owned).collect();
        Ok(self.take(Unpacked { units, modules: found.modules, host_references: found.host_references, skipped: found.skipped }))
    }

    fn open<'bytes>(&mut self, name: &str, bytes: &'bytes [u8]) -> Result<Unpacked<'bytes>, Failure> {
        let raw =
            RawInput { name: name.to_owned().into(), path: name.to_owned().into(), bytes, member: false, demand: Demand::Always };
        let found = unpack(&[raw], &self.unpack, &mut self.report)?;
        for unit in &found.units {
            if let Code::Cubin(object) = &unit.code
                && let Err(failure) = load::check(&Input::new(&unit.name, object), &self.options, &mut self.report)
            {
                return Err(failure);
            }
        }
        Ok(found)
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
    pub fn assemble(&mut self, compilers: &Compilers<'_>) -> Result<(), Failure> {
        assemble(&mut self.unpacked.units, &self.compile, compilers, &mut self.report)
    }

    /// Links, with inputs that are machine code already.
    ///
    /// # Errors
    /// When the inputs make no program; [`report`](Self::report) says why. No image is made then.
    pub fn link(&mut self) -> Result<Linked, Failure> {
        self.link_with(&Compilers::NONE)
    }

    /// Links, and compiles what is not machine code yet.
    ///
    /// # Errors
    /// As for [`link`](Self::link).
    pub fn link_with(&mut self, compilers: &Compilers<'_>) -> Result<Linked, Failure> {
        let lowered = lower(&self.unpacked, &self.compile, compilers, &mut self.report)?;
        match lowered {
            Lowered::Finished(image) => Ok(Linked { image, map: None }),
            Lowered::Objects(objects) => {
                let inputs: Vec<Input<'_>> = objects.iter().map(Object::input).collect();
                link(&inputs, &self.options, &mut self.report, &mut Trace::default())
            }
        }
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
pub fn link(inputs: &[Input<'_>], options: &Options, report: &mut Report, trace: &mut Trace) -> Result<Linked, Failure> {
    link_with(inputs, options, report, trace, |file, report| match file.to_vec() {
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
