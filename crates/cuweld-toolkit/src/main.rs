//! The program `cuweld-worker`: loads NVIDIA's libnvJitLink for a cuweld that is linked statically, which can load no library.
//!
//! It is called as that calls itself for such a job: with the word for it, and the job.

fn main() -> std::process::ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(word) if word == cuweld_toolkit::WORKER_WORD => cuweld_toolkit::serve(arguments),
        _ => std::process::ExitCode::FAILURE,
    }
}
