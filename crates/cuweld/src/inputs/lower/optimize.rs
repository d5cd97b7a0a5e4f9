//! Link-time optimization: intermediate code of all units becomes one PTX text, and that becomes code.

use super::super::{Code, Unpacked};
use super::arguments::{CompileOptions, Scope};
use super::{Assembly, CompilerError, Compilers, IntermediateModule, Optimization, said, unavailable};
use crate::diagnostics::{Diagnostic, Failure, Message, Report};
use crate::phases::load::Demand;
use crate::phases::undefined::is_driver_function;

/// What came out.
pub(super) enum Outcome {
    /// The result of the link.
    Finished(Vec<u8>),
    /// An object to be linked with others.
    Object(Vec<u8>),
}

/// Optimizes. `is_partial` says that there is code which the optimizer does not see.
pub(super) fn optimize(
    unpacked: &Unpacked<'_>,
    is_partial: bool,
    options: &CompileOptions,
    compilers: &Compilers<'_>,
    report: &mut Report,
) -> Result<Outcome, Failure> {
    let Some(optimization) = &options.optimization else { return report.fatal(Message::NeedsLinkTimeOptimization {}) };
    let recorded = Recorded::of(unpacked);
    let max_registers = recorded.agreed(options.max_registers, report)?;
    let options = &CompileOptions { max_registers, ..options.clone() };
    let modules = || {
        unpacked.units.iter().filter_map(|unit| match &unit.code {
            Code::LtoIr { data, bare, .. } => Some(IntermediateModule { name: &unit.name, data, bare: *bare }),
            _ => None,
        })
    };
    let compile = |whole: bool, report: &mut Report| {
        let arguments = options.optimizer_arguments(optimization, whole, &unpacked.host_references);
        let text = (compilers.optimize)(&Optimization { modules: modules().collect(), arguments });
        text.map(|optimized| optimized.text).or_else(|error| refused(error, report))
    };
    let assemble = |text: &[u8], relocatable: bool, report: &mut Report| {
        let arguments = options.assembler_arguments("", relocatable);
        said(options.optimized_name, (compilers.assemble)(&Assembly { text, arguments }), options, report)
    };

    let whole = match optimization.scope {
        Scope::Whole => true,
        Scope::Partial => false,
        Scope::Automatic => !is_partial,
    };
    if whole {
        let text = compile(true, report)?;
        // What the program lacks, the device runtime library may have.
        let has_runtime = unpacked.units.iter().any(|unit| unit.demand == Demand::Runtime);
        if !(has_runtime && lacks_a_function(&text)) {
            return match optimization.emit_ptx {
                true => Ok(Outcome::Finished(text)),
                false => assemble(&text, false, report).map(Outcome::Finished),
            };
        }
    }
    let text = compile(false, report)?;
    match optimization.emit_ptx {
        true => Ok(Outcome::Finished(text)),
        false => assemble(&text, true, report).map(Outcome::Object),
    }
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

/// Whether PTX declares a function that it does not define and that the driver will not provide.
fn lacks_a_function(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    text.split(".extern .func").skip(1).any(|declaration| {
        let declaration = declaration.trim_start();
        // A function that returns something has a list of parameters before its name.
        let name = match declaration.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            Some((_, behind)) => behind.trim_start(),
            None => declaration,
        };
        let end = name.find(|character: char| !(character.is_alphanumeric() || "_$.".contains(character)));
        !is_driver_function(&name[..end.unwrap_or(name.len())])
    })
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

#[cfg(test)]
mod tests {
    use super::lacks_a_function;

    #[test]
    fn functions_that_are_declared_only() {
        for (text, expected) in [
            (".version 9.0\n.visible .entry k() { ret; }", false),
            (".extern .func  (.param .b32 func_retval0) vprintf\n(\n", false),
            (".extern .func  (.param .b32 func_retval0) _Z6nosuchi\n(\n", true),
            (".extern .func __assertfail\n(\n", false),
            (".extern .func missing\n(\n", true),
        ] {
            assert_eq!(lacks_a_function(text.as_bytes()), expected, "{text}");
        }
    }
}
