"""cuweld as the device linker of Bazel's rules for CUDA.

A repository with a toolkit of links, in which nvlink and fatbinary are cuweld and everything else is the CUDA toolkit's. In MODULE.bazel:

    cuweld_repository = use_repo_rule("@cuweld//packaging/bazel:cuweld.bzl", "cuweld_repository")
    cuweld_repository(name = "welded")

or in WORKSPACE:

    load("@cuweld//packaging/bazel:cuweld.bzl", "cuweld_repository")
    cuweld_repository(name = "welded")

Rules of one's own run `@welded//:nvcc`, `@welded//:nvlink` and `@welded//:fatbinary`; `@welded//:programs` is what these need beside them.

rules_cuda (https://github.com/bazel-contrib/rules_cuda) is told where the toolkit is, not where each program is: give it the folder that
`cuweld shim FOLDER --whole` makes, as CUDA_PATH or as the `toolkit_path` of its toolkit. Where its clang toolchain asks for `nvlink` and
`fatbinary` (attributes of `cuda_toolkit_info`), these are the labels of this repository.
"""

def _cuweld_repository(context):
    program = context.os.environ.get("CUWELD") or context.which("cuweld")
    if not program:
        fail("cuweld is not on PATH; `pip install cuweld` installs it, CUWELD names it")
    arguments = [program, "shim", "toolkit", "--whole", "--messages=" + context.attr.messages]
    if context.attr.toolkit:
        arguments.append("--toolkit=" + context.attr.toolkit)
    result = context.execute(arguments)
    if result.return_code != 0:
        fail("cuweld shim failed:\n" + result.stderr)
    context.file("BUILD.bazel", """
package(default_visibility = ["//visibility:public"])

filegroup(name = "nvcc", srcs = ["toolkit/bin/nvcc"])

filegroup(name = "nvlink", srcs = ["toolkit/bin/nvlink"])

filegroup(name = "fatbinary", srcs = ["toolkit/bin/fatbinary"])

filegroup(name = "programs", srcs = ["toolkit/bin/nvcc.profile", ":fatbinary", ":nvcc", ":nvlink"])
""")

cuweld_repository = repository_rule(
    implementation = _cuweld_repository,
    attrs = {
        "toolkit": attr.string(doc = "The folder of the CUDA toolkit; the one that CUDA_HOME or PATH leads to, if empty."),
        "messages": attr.string(default = "rich", values = ["rich", "nvlink"], doc = "How the linker writes messages."),
    },
    environ = ["CUWELD", "CUDA_HOME", "CUDA_PATH", "PATH"],
    local = True,
)
