//! The crate cc compiles two units; their device code is linked without nvcc, and goes into the same library.
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let units = ["../build_script/kernels/scale.cu", "../build_script/kernels/kernel.cu"];
    let mut compiler = cc::Build::new();
    compiler.cuda(true).cudart("static").flag("-gencode=arch=compute_90,code=sm_90").flag("-rdc=true").files(units);
    let objects = compiler.compile_intermediates();
    let linked = PathBuf::from(std::env::var("OUT_DIR")?).join("dlink.o");
    let link = cuweld_device_link::DeviceLink::new(["sm_90"]);
    objects.iter().fold(link, |link, object| link.input(object)).to_object(&linked)?;
    // Not as CUDA any more: nvcc has nothing left to do.
    cc::Build::new().cpp(true).objects(objects).object(linked).compile("kernels");
    let toolkit = std::env::var("CUDA_HOME").unwrap_or("/usr/local/cuda".into());
    println!("cargo::rustc-link-search=native={toolkit}/lib64");
    println!("cargo::rustc-link-search=native={toolkit}/lib");
    for library in ["cudart_static", "pthread", "dl", "rt"] {
        println!("cargo::rustc-link-lib={library}");
    }
    Ok(())
}
