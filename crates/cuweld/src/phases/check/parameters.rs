//! Parameters: kernels with more parameter bytes than objects of old toolkits support.

use crate::diagnostics::{Diagnostic, Message, Report};
use crate::phases::explain;
use crate::phases::stages::Planned;

/// Refuses kernels with large parameters beside objects of toolkits that did not know such: once per kernel, used or not.
pub fn check(planned: &Planned<'_, '_>, report: &mut Report) {
    let &Planned { inputs, resolution, options, .. } = planned;
    let Some(large) = options.target.large_parameters else { return };
    let Some(old) =
        inputs.files().iter().find(|object| object.toolkit.is_some_and(|toolkit| (1..large.toolkit).contains(&toolkit)))
    else {
        return;
    };
    for function in resolution.functions().iter().filter(|function| function.parameters.is_some_and(|size| size > large.bank)) {
        let kernel = resolution.symbols()[function.symbol].name(inputs);
        let headline = format!(
            "'{}' has more parameters than '{}' allows, which an older toolkit made",
            explain::clash::shown(kernel),
            old.name
        );
        let hint = format!("compile all objects with CUDA {}.{} or later", large.toolkit / 10, large.toolkit % 10);
        report.add(Diagnostic::new(Message::LargeParameters {}).headline(headline).hint(hint));
    }
}
