"""cuweld as the device linker of rules_cuda (https://github.com/bazel-contrib/rules_cuda).

In a module's MODULE.bazel:

    cuweld = use_repo_rule("@cuweld//packaging/bazel:cuweld.bzl", "cuweld_repository")
    cuweld(name = "welded")

and where the CUDA toolkit of rules_cuda is described (`cuda_toolkit_info`), the labels of this repository in the places of the
toolkit's own programs:

    cuda_toolkit_info(
        ...
        nvlink = "@welded//:nvlink",
        nvcc = "@welded//:nvcc",
    )

`nvlink` is what the clang toolchain of rules_cuda calls for the final device link; `nvcc` calls the `nvlink` beside itself.
"""

def _cuweld_repository(context):
    program = context.os.environ.get("CUWELD") or context.which("cuweld")
    if not program:
        fail("cuweld is not on PATH; `pip install cuweld` installs it, CUWELD names it")
    arguments = [program, "shim", "shim", "--messages=" + context.attr.messages]
    if context.attr.toolkit:
        arguments.append("--toolkit=" + context.attr.toolkit)
    result = context.execute(arguments)
    if result.return_code != 0:
        fail("cuweld shim failed:\n" + result.stderr)
    context.file("BUILD.bazel", """
package(default_visibility = ["//visibility:public"])

filegroup(name = "nvlink", srcs = ["shim/nvlink"])

filegroup(name = "nvcc", srcs = ["shim/nvcc"], data = ["shim/nvcc.profile", "shim/nvlink"])
""")

cuweld_repository = repository_rule(
    implementation = _cuweld_repository,
    attrs = {
        "toolkit": attr.string(doc = "The folder of the CUDA toolkit; the one that CUDA_HOME or PATH leads to, if empty."),
        "messages": attr.string(default = "rich", values = ["rich", "nvlink"], doc = "How the linker writes messages."),
    },
    environ = ["CUWELD", "CUDA_HOME", "PATH"],
    local = True,
)
