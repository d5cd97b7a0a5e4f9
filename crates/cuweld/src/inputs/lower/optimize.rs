//! Link-time optimization: compiles the LTO-IR of all units to one PTX text, and that to machine code.

use super::super::{Code, Unpacked};
use super::arguments::{CompileOptions, LinkTimeOptimization, Scope};
use super::blame::{Alone, lacks_a_function, names_not_defined, one_by_one};
use super::{Assembly, CompilerError, Compilers, IntermediateModule, Optimization, said, unavailable};
use crate::diagnostics::{Diagnostic, Failure, Message, Report};
use crate::phases::explain::undefined::needed_by;

/// What came out.
pub(super) enum Compiled {
    /// The result of the link.
    Finished(Vec<u8>),
    /// An object to be linked with others.
    Object {
        /// The object.
        bytes: Vec<u8>,
        /// Whether it was first compiled as a whole program, which lacks a function.
        was_whole: bool,
    },
}

/// Optimizes. `is_partial` says that there is code which the optimizer does not see.
pub(super) fn optimize(
    unpacked: &Unpacked<'_>,
    is_partial: bool,
    options: &CompileOptions,
    compilers: &Compilers<'_>,
    report: &mut Report,
) -> Result<Compiled, Failure> {
    let Some(optimization) = &options.optimization else { return report.fatal(Message::NeedsLinkTimeOptimization {}) };
    let max_registers = Recorded::of(unpacked).agreed(options.max_registers, report)?;
    let options = &CompileOptions { max_registers, ..options.clone() };
    let program = Program { unpacked, modules: modules(unpacked), options, optimization, compilers };
    let whole = match optimization.scope {
        Scope::Whole => true,
        Scope::Partial => false,
        Scope::Automatic => !is_partial,
    };
    if whole {
        let text = program.compile(true, report)?;
        // What the program lacks, the device runtime library may have.
        let has_runtime = unpacked.runtime_units().next().is_some();
        if !has_runtime || !lacks_a_function(&text) {
            let missing = if options.explain_undefined { names_not_defined(&text) } else { Vec::new() };
            if !missing.is_empty() {
                return undefined(&missing, &program.modules, options, optimization, compilers, report);
            }
            return match optimization.emit_ptx {
                true => Ok(Compiled::Finished(text)),
                false => program.assemble(&text, false, report).map(Compiled::Finished),
            };
        }
    }
    let text = program.compile(false, report)?;
    match optimization.emit_ptx {
        true => Ok(Compiled::Finished(text)),
        false => program.assemble(&text, true, report).map(|bytes| Compiled::Object { bytes, was_whole: whole }),
    }
}

/// What is optimized, and how.
struct Program<'link> {
    unpacked: &'link Unpacked<'link>,
    modules: Vec<IntermediateModule<'link>>,
    options: &'link CompileOptions,
    optimization: &'link LinkTimeOptimization,
    compilers: &'link Compilers<'link>,
}

impl Program<'_> {
    /// The PTX of all modules.
    fn compile(&self, whole: bool, report: &mut Report) -> Result<Vec<u8>, Failure> {
        let Program { modules, options, optimization, compilers, .. } = self;
        let arguments = options.optimizer_arguments(optimization, whole, &self.unpacked.host_references);
        let optimized = (compilers.optimize)(&Optimization { name: options.optimized_name, modules: modules.clone(), arguments });
        match optimized {
            Ok(optimized) => Ok(optimized.text),
            Err(CompilerError::Crashed { how, module }) => {
                let guilty = match module.and_then(|module| modules.get(module)) {
                    Some(module) => vec![module.name],
                    None => {
                        let alone = one_by_one(modules, options, optimization, compilers);
                        let crashes = modules.iter().zip(&alone).filter(|(_, alone)| matches!(alone, Alone::Crashes));
                        crashes.map(|(module, _)| module.name).collect()
                    }
                };
                crashed(&how, &guilty, modules, report)
            }
            Err(error) => refused(error, report),
        }
    }

    /// The object that the PTX becomes.
    fn assemble(&self, text: &[u8], relocatable: bool, report: &mut Report) -> Result<Vec<u8>, Failure> {
        let Program { options, compilers, .. } = self;
        let (name, arguments) = (options.optimized_name, options.assembler_arguments("", relocatable));
        said(name, (compilers.assemble)(&Assembly { name, text, arguments }), options, report)
    }
}

/// The intermediate code of all units.
fn modules<'data>(unpacked: &'data Unpacked<'_>) -> Vec<IntermediateModule<'data>> {
    let modules = unpacked.units.iter().filter_map(|unit| match &unit.code {
        Code::LtoIr { data, bare, .. } => Some(IntermediateModule { name: &unit.name, data, bare: *bare }),
        _ => None,
    });
    modules.collect()
}

/// Ends the link because the program needs names that nothing defines.
fn undefined<T>(
    names: &[String],
    modules: &[IntermediateModule<'_>],
    options: &CompileOptions,
    optimization: &LinkTimeOptimization,
    compilers: &Compilers<'_>,
    report: &mut Report,
) -> Result<T, Failure> {
    let alone = one_by_one(modules, options, optimization, compilers);
    for name in names {
        let mut units: Vec<&str> = units_that_need(name, modules, &alone).collect();
        if units.is_empty() {
            units.push(options.optimized_name);
        }
        report.add(needed_by(name, &units));
    }
    Err(Failure::Errors)
}

/// The units that need a name of others.
fn units_that_need<'units>(
    name: &str,
    modules: &'units [IntermediateModule<'units>],
    alone: &[Alone],
) -> impl Iterator<Item = &'units str> {
    let needs = move |alone: &Alone| matches!(alone, Alone::Needs(names) if names.iter().any(|needed| needed == name));
    modules.iter().zip(alone).filter(move |(_, alone)| needs(alone)).map(|(module, _)| module.name)
}

/// Says of names that are missing in the object that link-time optimization made which of the units that it was made of need them.
pub(crate) fn name_the_units(unpacked: &Unpacked<'_>, options: &CompileOptions, compilers: &Compilers<'_>, report: &mut Report) {
    let is_ours = |diagnostic: &Diagnostic| matches!(&diagnostic.message, Message::UndefinedReference { file, .. } if file == options.optimized_name);
    let Some(optimization) = options.optimization.as_ref().filter(|_| report.diagnostics().any(is_ours)) else { return };
    let modules = modules(unpacked);
    let alone = one_by_one(&modules, options, optimization, compilers);
    report.revise(|diagnostic| {
        let Message::UndefinedReference { name, file } = &mut diagnostic.message else { return };
        if file != options.optimized_name {
            return;
        }
        let units: Vec<&str> = units_that_need(name, &modules, &alone).collect();
        if let Some(first) = units.first() {
            (*first).clone_into(file);
            let suffix = format!(" in {}", options.optimized_name);
            let shown = units.join(", ");
            for place in &mut diagnostic.also {
                if let Some(who) = place.strip_suffix(&suffix) {
                    *place = format!("{who} in {shown}");
                }
            }
        }
    });
}

/// Ends the link because the optimizer crashed.
fn crashed<T>(how: &str, guilty: &[&str], modules: &[IntermediateModule<'_>], report: &mut Report) -> Result<T, Failure> {
    let diagnostic = Diagnostic::new(Message::OptimizerFailed {}).told(how);
    let list = |names: &[&str]| names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    report.fatal(match guilty {
        [] => {
            let names: Vec<&str> = modules.iter().map(|module| module.name).collect();
            diagnostic
                .headline("the program crashes the optimizer, although no unit does by itself")
                .also(format!("it was made of {}", list(&names)))
                .hint("leave out units, or compile some of them without -dlto, to find those that do")
        }
        guilty => diagnostic
            .headline(format!("the intermediate code of {} crashes the optimizer", list(guilty)))
            .hint("the file may be damaged: compile it again"),
    })
}

/// Ends the link because the optimizer failed.
fn refused<T>(error: CompilerError, report: &mut Report) -> Result<T, Failure> {
    let CompilerError::Refused(text) = error else { return unavailable(error, report) };
    // The status of the library's own functions says nothing to its user's users.
    for line in text.lines().filter(|line| !line.starts_with("ERROR in nvvm")) {
        report.say(Message::OptimizerSays { text: line.to_owned() });
    }
    report.fatal(Diagnostic::new(Message::OptimizerFailed {}).headline("link-time optimization failed"))
}

/// What the units were compiled with, as far as the optimizer must not contradict it.
struct Recorded<'data> {
    units: Vec<&'data str>,
}

impl<'data> Recorded<'data> {
    fn of(unpacked: &'data Unpacked<'_>) -> Self {
        let options = unpacked.units.iter().filter_map(|unit| match &unit.code {
            Code::LtoIr { options, bare: false, .. } => Some(options.as_str()),
            _ => None,
        });
        Recorded { units: options.collect() }
    }

    /// Checks that the units agree, and gives the most registers that code may use.
    fn agreed(&self, max_registers: Option<i32>, report: &mut Report) -> Result<Option<i32>, Failure> {
        let lines = self.units.iter().filter(|unit| unit.split_whitespace().any(|word| word == "-generate-line-info")).count();
        if lines > 0 && lines < self.units.len() {
            report.say(Message::MixedLineInformation {});
        }
        let registers = match max_registers {
            Some(given) => Some(given),
            None => self.max_registers(report)?,
        };
        for (recorded, shown) in
            [("-ftz=", "-ftz"), ("-prec_div=", "-prec-div"), ("-prec_sqrt=", "-prec-sqrt"), ("-fmad=", "-fmad")]
        {
            let mut values =
                self.units.iter().filter_map(|unit| unit.split_whitespace().find_map(|word| word.strip_prefix(recorded)));
            let first = values.next();
            if values.any(|value| Some(value) != first) {
                return report.fatal(Message::OptimizerOptionsDiffer { option: shown });
            }
        }
        Ok(registers)
    }

    fn max_registers(&self, report: &mut Report) -> Result<Option<i32>, Failure> {
        let of_unit = |unit: &&str| {
            let mut words = unit.split_whitespace().skip_while(|&word| word != "-maxreg").skip(1);
            words.next().and_then(|number| number.parse::<i32>().ok())
        };
        let limits: Vec<i32> = self.units.iter().filter_map(of_unit).collect();
        let Some(&limit) = limits.first() else { return Ok(None) };
        if limits.iter().any(|&other| other != limit) {
            return report.fatal(Message::OptimizerOptionsDiffer { option: "-maxrregcount" });
        }
        if limits.len() < self.units.len() {
            report.say(Message::MixedRegisterLimits { limit });
        }
        Ok(Some(limit))
    }
}
