/*
 * Links cubins, or other code with the options for it (-lto, -ptx, ...), while it runs, and writes the result to a file.
 *
 *     cc -I crates/nvjitlink/include examples/nvjitlink/link.c -L target/release -lnvJitLink -o link
 *     ln -s libnvJitLink.so target/release/libnvJitLink.so.13     # the name that programs look for
 *     LD_LIBRARY_PATH=target/release ./link sm_90 linked.cubin examples/two_units/kernel.cubin examples/two_units/scale.cubin
 *
 * A real program would hand the bytes to the driver (cuModuleLoadData) and not to a file.
 */
#include <nvJitLink.h>
#include <stdio.h>
#include <stdlib.h>

/* Prints a log of the link, if there is anything in it. */
static void print_log(nvJitLinkHandle link, nvJitLinkResult (*get_size)(nvJitLinkHandle, size_t *),
                      nvJitLinkResult (*get_log)(nvJitLinkHandle, char *))
{
    size_t size = 0;
    if (get_size(link, &size) != NVJITLINK_SUCCESS || size == 0)
        return;
    char *log = malloc(size);
    if (log != NULL && get_log(link, log) == NVJITLINK_SUCCESS)
        fputs(log, stderr);
    free(log);
}

/* Writes the linked cubin to a file. */
static int write_cubin(nvJitLinkHandle link, const char *path)
{
    size_t size = 0;
    if (nvJitLinkGetLinkedCubinSize(link, &size) != NVJITLINK_SUCCESS)
        return 1;
    void *cubin = malloc(size);
    FILE *file = fopen(path, "wb");
    int failed = cubin == NULL || file == NULL || nvJitLinkGetLinkedCubin(link, cubin) != NVJITLINK_SUCCESS ||
                 fwrite(cubin, 1, size, file) != size;
    if (file != NULL && fclose(file) != 0)
        failed = 1;
    free(cubin);
    return failed;
}

int main(int count, char **arguments)
{
    if (count < 4) {
        fprintf(stderr, "usage: %s sm_NN OUTPUT [-OPTION...] INPUT...\n", arguments[0]);
        return 2;
    }
    char arch[64];
    snprintf(arch, sizeof arch, "-arch=%s", arguments[1]);
    const char *options[16] = {arch, "-verbose"};
    int options_count = 2, first = 3;
    while (first < count && arguments[first][0] == '-' && options_count < 16)
        options[options_count++] = arguments[first++];

    nvJitLinkHandle link;
    nvJitLinkResult result = nvJitLinkCreate(&link, options_count, options);
    for (int index = first; index < count && result == NVJITLINK_SUCCESS; index++)
        result = nvJitLinkAddFile(link, NVJITLINK_INPUT_ANY, arguments[index]);
    if (result == NVJITLINK_SUCCESS)
        result = nvJitLinkComplete(link);

    print_log(link, nvJitLinkGetErrorLogSize, nvJitLinkGetErrorLog);
    print_log(link, nvJitLinkGetInfoLogSize, nvJitLinkGetInfoLog);
    int failed = result != NVJITLINK_SUCCESS || write_cubin(link, arguments[2]) != 0;
    nvJitLinkDestroy(&link);
    return failed;
}
