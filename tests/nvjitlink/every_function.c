/*
 * Calls every function of the interface with good and bad arguments, and prints what comes back. Run with the real library and with
 * ours, it must print the same. With --mended it also does what the real library does not survive or gets wrong, and checks that ours does.
 *
 *     every_function FOLDER [--mended]
 */
#include <nvJitLink.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *folder;
static int failures;

static void check(const char *what, int good)
{
    if (!good) {
        printf("FAIL %s\n", what);
        failures++;
    }
}

/* A file of the folder. */
static unsigned char *read_file(const char *name, size_t *size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        printf("FAIL there is no %s\n", path);
        exit(1);
    }
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    unsigned char *bytes = malloc(*size + 1);
    if (bytes == NULL || fread(bytes, 1, *size, file) != *size)
        exit(1);
    bytes[*size] = 0;
    fclose(file);
    return bytes;
}

static int add(nvJitLinkHandle link, int kind, const char *name)
{
    size_t size;
    unsigned char *bytes = read_file(name, &size);
    int result = (int)nvJitLinkAddData(link, (nvJitLinkInputType)kind, bytes, size, name);
    /* The library must have its own copy. */
    memset(bytes, 0xcc, size);
    free(bytes);
    return result;
}

static uint64_t hash(const unsigned char *bytes, size_t size)
{
    uint64_t value = 0xcbf29ce484222325u;
    for (size_t index = 0; index < size; index++)
        value = (value ^ bytes[index]) * 0x100000001b3u;
    return value;
}

typedef nvJitLinkResult (*get_size_function)(nvJitLinkHandle, size_t *);

/* Prints something that a link has: its size, its hash, and all of it if it is a log. */
static void print(const char *what, nvJitLinkHandle link, get_size_function get_size, nvJitLinkResult (*get)(nvJitLinkHandle, void *),
                  int is_log)
{
    size_t size = 77;
    int result = (int)get_size(link, &size);
    if (result != 0) {
        printf("%s: %d, size %zu\n", what, result, size);
        return;
    }
    unsigned char *bytes = malloc(size + 1);
    if (bytes == NULL)
        exit(1);
    bytes[size] = 0xee;
    result = (int)get(link, bytes);
    check("nothing is written behind the end", size == 0 || bytes[size] == 0xee);
    printf("%s: %d, size %zu, hash %016llx\n", what, result, size, (unsigned long long)hash(bytes, size));
    if (is_log && size > 0) {
        check("a log ends with NUL", bytes[size - 1] == 0);
        printf("%s", (char *)bytes);
    }
    free(bytes);
}

static nvJitLinkResult get_ptx(nvJitLinkHandle link, void *buffer) { return nvJitLinkGetLinkedPtx(link, buffer); }
static nvJitLinkResult get_errors(nvJitLinkHandle link, void *buffer) { return nvJitLinkGetErrorLog(link, buffer); }
static nvJitLinkResult get_infos(nvJitLinkHandle link, void *buffer) { return nvJitLinkGetInfoLog(link, buffer); }

static void print_all(nvJitLinkHandle link)
{
    print("cubin", link, nvJitLinkGetLinkedCubinSize, nvJitLinkGetLinkedCubin, 0);
    print("ptx", link, nvJitLinkGetLinkedPtxSize, get_ptx, 0);
    print("errors", link, nvJitLinkGetErrorLogSize, get_errors, 1);
    print("infos", link, nvJitLinkGetInfoLogSize, get_infos, 1);
}

static nvJitLinkHandle create(int count, const char **options)
{
    nvJitLinkHandle link = NULL;
    int result = (int)nvJitLinkCreate(&link, (uint32_t)count, options);
    printf("create: %d\n", result);
    return link;
}

static void destroy(nvJitLinkHandle link)
{
    int first = (int)nvJitLinkDestroy(&link);
    printf("destroy: %d, %s", first, link == NULL ? "null" : "not null");
    printf(", again: %d\n", (int)nvJitLinkDestroy(&link));
}

static void good_links(void)
{
    const char *options[] = {"-arch=sm_90", "-verbose"};
    puts("--- cubins");
    nvJitLinkHandle link = create(2, options);
    printf("add: %d %d\n", add(link, NVJITLINK_INPUT_CUBIN, "kernel.cubin"), add(link, NVJITLINK_INPUT_CUBIN, "function.cubin"));
    printf("before: ");
    print("cubin", link, nvJitLinkGetLinkedCubinSize, nvJitLinkGetLinkedCubin, 0);
    printf("complete: %d\n", (int)nvJitLinkComplete(link));
    print_all(link);
    printf("again: %d, late: %d\n", (int)nvJitLinkComplete(link), add(link, NVJITLINK_INPUT_CUBIN, "function.cubin"));
    print_all(link);
    destroy(link);

    puts("--- a file, a fatbin, a library, relocatable");
    const char *relocatable[] = {"-arch=sm_90", "-r"};
    char path[4096];
    snprintf(path, sizeof path, "%s/kernel.cubin", folder);
    link = create(2, relocatable);
    printf("add: %d %d\n", (int)nvJitLinkAddFile(link, NVJITLINK_INPUT_ANY, path), add(link, NVJITLINK_INPUT_FATBIN, "function.fatbin"));
    printf("complete: %d\n", (int)nvJitLinkComplete(link));
    print("cubin", link, nvJitLinkGetLinkedCubinSize, nvJitLinkGetLinkedCubin, 0);
    destroy(link);

    link = create(1, options);
    printf("add: %d %d\n", add(link, NVJITLINK_INPUT_OBJECT, "kernel.o"), add(link, NVJITLINK_INPUT_LIBRARY, "function.a"));
    printf("complete: %d\n", (int)nvJitLinkComplete(link));
    print_all(link);
    destroy(link);

    puts("--- nothing at all");
    link = create(1, options);
    printf("complete: %d\n", (int)nvJitLinkComplete(link));
    print_all(link);
    destroy(link);
}

static void bad_arguments(void)
{
    puts("--- null");
    const char *options[] = {"-arch=sm_90"};
    nvJitLinkHandle link = NULL;
    size_t size = 0;
    char buffer[16];
    unsigned int number = 0, other = 0;
    printf("create: %d %d\n", (int)nvJitLinkCreate(NULL, 1, options), (int)nvJitLinkCreate(&link, 1, NULL));
    printf("destroy: %d %d\n", (int)nvJitLinkDestroy(NULL), (int)nvJitLinkDestroy(&link));
    printf("add: %d %d\n", (int)nvJitLinkAddData(NULL, NVJITLINK_INPUT_CUBIN, buffer, 1, "x"),
           (int)nvJitLinkAddFile(NULL, NVJITLINK_INPUT_CUBIN, "x"));
    printf("complete: %d\n", (int)nvJitLinkComplete(NULL));
    printf("sizes: %d %d %d %d\n", (int)nvJitLinkGetLinkedCubinSize(NULL, &size), (int)nvJitLinkGetLinkedPtxSize(NULL, &size),
           (int)nvJitLinkGetErrorLogSize(NULL, &size), (int)nvJitLinkGetInfoLogSize(NULL, &size));
    printf("getters: %d %d %d %d\n", (int)nvJitLinkGetLinkedCubin(NULL, buffer), (int)nvJitLinkGetLinkedPtx(NULL, buffer),
           (int)nvJitLinkGetErrorLog(NULL, buffer), (int)nvJitLinkGetInfoLog(NULL, buffer));
    printf("version: %d %d\n", (int)nvJitLinkVersion(NULL, &number), (int)nvJitLinkVersion(&number, NULL));
    int result = (int)nvJitLinkVersion(&number, &other);
    printf("version: %d, %u.%u\n", result, number, other);

    puts("--- null for a good handle");
    link = create(1, options);
    printf("sizes: %d %d %d %d\n", (int)nvJitLinkGetLinkedCubinSize(link, NULL), (int)nvJitLinkGetLinkedPtxSize(link, NULL),
           (int)nvJitLinkGetErrorLogSize(link, NULL), (int)nvJitLinkGetInfoLogSize(link, NULL));
    printf("getters: %d %d %d %d\n", (int)nvJitLinkGetLinkedCubin(link, NULL), (int)nvJitLinkGetLinkedPtx(link, NULL),
           (int)nvJitLinkGetErrorLog(link, NULL), (int)nvJitLinkGetInfoLog(link, NULL));
    printf("files: %d %d %d\n", (int)nvJitLinkAddFile(link, NVJITLINK_INPUT_CUBIN, NULL),
           (int)nvJitLinkAddFile(link, NVJITLINK_INPUT_CUBIN, "no such file"), (int)nvJitLinkAddFile(link, NVJITLINK_INPUT_CUBIN, "/dev/null"));
    printf("no bytes: %d %d\n", (int)nvJitLinkAddData(link, NVJITLINK_INPUT_CUBIN, buffer, 0, "x"),
           (int)nvJitLinkAddData(link, (nvJitLinkInputType)99, buffer, 0, "x"));
    memset(buffer, 'g', sizeof buffer);
    for (int kind = -1; kind < 13; kind++)
        printf("garbage as %d: %d\n", kind, (int)nvJitLinkAddData(link, (nvJitLinkInputType)kind, buffer, sizeof buffer, "garbage"));
    printf("without a name: %d\n", (int)nvJitLinkAddData(link, NVJITLINK_INPUT_ANY, buffer, sizeof buffer, NULL));
    print_all(link);
    destroy(link);

    puts("--- options");
    const char *bad[] = {"-arch=sm_90", "-bogus"};
    link = create(2, bad);
    printf("add: %d\n", add(link, NVJITLINK_INPUT_CUBIN, "kernel.cubin"));
    print_all(link);
    destroy(link);
    destroy(create(0, options));
}

static void mended(void)
{
    puts("--- mended");
    const char *options[] = {"-arch=sm_90"};
    const char *with_null[] = {"-arch=sm_90", NULL};
    nvJitLinkHandle link = NULL;
    size_t size = 0;
    char buffer[16];
    check("a null option", nvJitLinkCreate(&link, 2, with_null) == NVJITLINK_ERROR_NULL_INPUT);

    nvJitLinkCreate(&link, 1, options);
    check("null data", nvJitLinkAddData(link, NVJITLINK_INPUT_CUBIN, NULL, 10, "x") == NVJITLINK_ERROR_NULL_INPUT);
    check("data without end", nvJitLinkAddData(link, NVJITLINK_INPUT_CUBIN, buffer, SIZE_MAX, "x") == NVJITLINK_ERROR_NULL_INPUT);
    nvJitLinkHandle copy = link;
    check("destroy", nvJitLinkDestroy(&link) == NVJITLINK_SUCCESS);
    check("a handle that is used up", nvJitLinkComplete(copy) == NVJITLINK_ERROR_NULL_INPUT);
    check("destroy it again", nvJitLinkDestroy(&copy) == NVJITLINK_ERROR_NULL_INPUT);
    nvJitLinkHandle garbage = (nvJitLinkHandle)(uintptr_t)0x1234;
    check("a handle that is none", nvJitLinkComplete(garbage) == NVJITLINK_ERROR_NULL_INPUT);
    check("its log", nvJitLinkGetErrorLogSize(garbage, &size) == NVJITLINK_ERROR_NULL_INPUT);
    check("destroy it", nvJitLinkDestroy(&garbage) == NVJITLINK_ERROR_NULL_INPUT);

    const char *bogus[] = {"-bogus"};
    nvJitLinkCreate(&link, 1, bogus);
    check("complete what was not created", nvJitLinkComplete(link) == NVJITLINK_ERROR_INTERNAL);
    nvJitLinkDestroy(&link);

    nvJitLinkCreate(&link, 1, options);
    check("clash: first", add(link, NVJITLINK_INPUT_CUBIN, "function.cubin") == 0);
    check("clash: second", add(link, NVJITLINK_INPUT_CUBIN, "other_function.cubin") == 0);
    check("clash: complete", nvJitLinkComplete(link) == NVJITLINK_ERROR_INTERNAL);
    check("clash: no image", nvJitLinkGetLinkedCubinSize(link, &size) == NVJITLINK_ERROR_INTERNAL);
    print("errors", link, nvJitLinkGetErrorLogSize, get_errors, 1);
    nvJitLinkDestroy(&link);

    nvJitLinkCreate(&link, 1, options);
    check("undefined: add", add(link, NVJITLINK_INPUT_CUBIN, "kernel.cubin") == 0);
    check("undefined: complete", nvJitLinkComplete(link) == NVJITLINK_ERROR_INTERNAL);
    check("undefined: no image", nvJitLinkGetLinkedCubinSize(link, &size) == NVJITLINK_ERROR_INTERNAL);
    nvJitLinkDestroy(&link);

    /* Inputs that end too early: refused or not, but survived. */
    size_t whole;
    unsigned char *bytes = read_file("kernel.cubin", &whole);
    for (size_t length = 1; length < whole; length += 1 + length / 8) {
        nvJitLinkCreate(&link, 1, options);
        nvJitLinkAddData(link, NVJITLINK_INPUT_CUBIN, bytes, length, "cut");
        nvJitLinkComplete(link);
        nvJitLinkDestroy(&link);
    }
    free(bytes);
    check("no intermediate code", nvJitLinkCreate(&link, 1, options) == 0 &&
                                      nvJitLinkGetLinkedLTOIRSize(link, &size) == NVJITLINK_ERROR_INVALID_INPUT &&
                                      nvJitLinkGetLinkedLTOIR(link, buffer) == NVJITLINK_ERROR_INVALID_INPUT);
    nvJitLinkDestroy(&link);
    puts(failures == 0 ? "PASS" : "FAIL");
}

int main(int count, char **arguments)
{
    if (count < 2)
        return 2;
    folder = arguments[1];
    good_links();
    bad_arguments();
    if (count > 2 && strcmp(arguments[2], "--mended") == 0)
        mended();
    return failures != 0;
}
