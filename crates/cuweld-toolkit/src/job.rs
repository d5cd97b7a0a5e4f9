//! Work for the library that a worker does, in a process that can crash without harm.
//!
//! The folder of the job holds what is to be done, the inputs, and what came of it.

use crate::library::{Kind, Loaded, Made, Module, Product, Work};
use crate::private_folder;
use crate::worker::{Failure, Worker};
use cuweld::inputs::lower::CompilerError;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// What a worker is to do, as it stands in the folder of the job beside the modules.
#[derive(Serialize, Deserialize)]
struct Job {
    product: Product,
    arguments: Vec<String>,
    modules: Vec<(Kind, String)>,
}

/// The files of a job, but for its modules.
const JOB: &str = "job.json";
const IMAGE: &str = "image";
const INTERMEDIATE: &str = "intermediate";
const LOG: &str = "log";
const AT: &str = "at";

/// How a job ends that came to nothing: the code was refused, or the library could not be used.
const REFUSED: i32 = 1;
const UNUSABLE: i32 = 2;

/// The file of a module.
fn module(folder: &Path, index: usize) -> PathBuf {
    folder.join(format!("module-{index}"))
}

/// Has a worker do it.
pub(crate) fn run(library: &Path, work: &Work<'_>, worker: &Worker) -> io::Result<Result<Made, CompilerError>> {
    let folder = private_folder()?;
    let modules = work.modules.iter().map(|module| (module.kind, module.name.to_owned())).collect();
    let job = Job { product: work.product, arguments: work.arguments.clone(), modules };
    fs::write(folder.path().join(JOB), serde_json::to_vec(&job)?)?;
    for (index, input) in work.modules.iter().enumerate() {
        fs::write(module(folder.path(), index), input.data)?;
    }
    let done = worker.optimize(folder.path(), &std::path::absolute(library)?)?;
    let read = |name: &str| fs::read(folder.path().join(name));
    let log = || read(LOG).map(|log| String::from_utf8_lossy(&log).into_owned());
    Ok(match done.failure {
        None => Ok(Made { image: read(IMAGE)?, intermediate: read(INTERMEDIATE).ok(), log: log()? }),
        Some(Failure::Status(REFUSED)) => Err(CompilerError::Refused(log()?)),
        Some(Failure::Status(_)) => Err(CompilerError::Unusable(log()?)),
        Some(Failure::Unstarted(why)) => Err(CompilerError::Unusable(why)),
        Some(Failure::Crash(how)) => {
            let module = fs::read_to_string(folder.path().join(AT)).ok().and_then(|at| at.parse().ok());
            Err(CompilerError::Crashed { how: format!("'{}' crashed ({how})", library.display()), module })
        }
    })
}

/// What a worker does that can not do its job, for this reason. Gives the status to end with.
pub(crate) fn refuse(folder: &Path, why: &str) -> io::Result<i32> {
    fs::write(folder.join(LOG), why).map(|()| UNUSABLE)
}

/// What a worker does: the job in `folder`. Gives the status to end with.
pub(crate) fn serve(folder: &Path, library: &Path) -> io::Result<i32> {
    let job: Job = serde_json::from_slice(&fs::read(folder.join(JOB))?)?;
    let data: Vec<Vec<u8>> = (0..job.modules.len()).map(|index| fs::read(module(folder, index))).collect::<io::Result<_>>()?;
    let modules = job.modules.iter().zip(&data).map(|((kind, name), data)| Module { kind: *kind, name, data });
    let work = Work { product: job.product, arguments: job.arguments, modules: modules.collect() };
    // So that the parent of a worker that died knows where it was.
    let at = |index: Option<usize>| _ = fs::write(folder.join(AT), index.map_or_else(String::new, |index| index.to_string()));
    match Loaded::load(library).and_then(|loaded| loaded.make(&work, at)) {
        Ok(Made { image, intermediate, log }) => {
            fs::write(folder.join(IMAGE), image)?;
            intermediate.map_or(Ok(()), |code| fs::write(folder.join(INTERMEDIATE), code))?;
            fs::write(folder.join(LOG), log).map(|()| 0)
        }
        Err(CompilerError::Refused(log)) => fs::write(folder.join(LOG), log).map(|()| REFUSED),
        Err(error) => refuse(folder, &error.to_string()),
    }
}
