//! Compiles two units with `nvcc -dc`, and links their device code.
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let mut link = cuweld_device_link::DeviceLink::new(["sm_80", "sm_90"]);
    for unit in ["scale", "kernel"] {
        let source = format!("kernels/{unit}.cu");
        let object = out.join(unit).with_extension("o");
        let compiled = Command::new("nvcc")
            .args(["-dc", "-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=sm_90", "-Xcompiler=-fPIC"])
            .arg(&source)
            .arg("-o")
            .arg(&object)
            .status()?;
        if !compiled.success() {
            return Err(format!("nvcc can not compile {source}").into());
        }
        println!("cargo::rerun-if-changed={source}");
        println!("cargo::rustc-link-arg={}", object.display());
        link = link.input(object);
    }
    let object = out.join("dlink.o");
    link.to_object(&object)?;
    println!("cargo::rustc-link-arg={}", object.display());
    // The CUDA runtime.
    let toolkit = std::env::var("CUDA_HOME").unwrap_or("/usr/local/cuda".into());
    for folder in ["lib64", "lib"].map(|folder| Path::new(&toolkit).join(folder)).into_iter().filter(|folder| folder.is_dir()) {
        println!("cargo::rustc-link-arg=-L{}", folder.display());
    }
    for library in ["cudart_static", "stdc++", "pthread", "dl", "rt"] {
        println!("cargo::rustc-link-arg=-l{library}");
    }
    Ok(())
}
