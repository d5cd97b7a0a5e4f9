// A stand-in for the driver, libcuda.so.1: one device, of the compute capability that CAPABILITY names (90), on which nothing runs.
//
// Programs that link through libnvJitLink ask for a device first. With this they link where there is no GPU, and what they load is
// looked at: an image has to be executable, of the device's architecture, and has to define the kernels that are asked for. PTX, which
// a driver compiles, only has to name them.

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Result;

enum { SUCCESS = 0, INVALID_DEVICE = 101, INVALID_IMAGE = 200, INVALID_CONTEXT = 201, NOT_FOUND = 500, NOT_SUPPORTED = 801 };
enum { MACHINE_CUDA = 190, ENTRY = 0x10 };
enum { MAJOR = 75, MINOR = 76, CONTEXTS = 64 };

static int capability(void) {
    const char *text = getenv("CAPABILITY");
    return text ? atoi(text) : 90;
}

static Result cuInit(unsigned flags) { return SUCCESS; }

static Result cuDriverGetVersion(int *version) {
    *version = 13050;
    return SUCCESS;
}

static Result cuDeviceGetCount(int *count) {
    *count = 1;
    return SUCCESS;
}

static Result cuDeviceGet(int *device, int index) {
    *device = 0;
    return index == 0 ? SUCCESS : INVALID_DEVICE;
}

static Result cuDeviceGetName(char *name, int size, int device) {
    snprintf(name, size, "stand-in");
    return SUCCESS;
}

static Result cuDeviceGetUuid(void *uuid, int device) {
    memset(uuid, 1, 16);
    return SUCCESS;
}

static Result cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == MAJOR ? capability() / 10 : attribute == MINOR ? capability() % 10 : 1024;
    return SUCCESS;
}

// Contexts: a stack for each thread, of which nothing but the order is known.

static _Thread_local void *contexts[CONTEXTS];
static _Thread_local int depth;

static Result cuDevicePrimaryCtxRetain(void **context, int device) {
    *context = contexts;
    return SUCCESS;
}

static Result cuDevicePrimaryCtxRelease(int device) { return SUCCESS; }

static Result cuCtxGetCurrent(void **context) {
    *context = depth ? contexts[depth - 1] : NULL;
    return SUCCESS;
}

static Result cuCtxPushCurrent(void *context) {
    if (depth == CONTEXTS) return INVALID_CONTEXT;
    contexts[depth++] = context;
    return SUCCESS;
}

static Result cuCtxPopCurrent(void **context) {
    if (!depth) return INVALID_CONTEXT;
    *context = contexts[--depth];
    return SUCCESS;
}

static Result cuCtxSetCurrent(void *context) {
    void *before;
    if (depth) cuCtxPopCurrent(&before);
    return context ? cuCtxPushCurrent(context) : SUCCESS;
}

static Result cuCtxGetDevice(int *device) {
    *device = 0;
    return depth ? SUCCESS : INVALID_CONTEXT;
}

static Result cuCtxSynchronize(void) { return SUCCESS; }

static Result cuStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
    *stream = contexts;
    return SUCCESS;
}

static Result cuStreamSynchronize(void *stream) { return SUCCESS; }

static Result cuStreamDestroy(void *stream) { return SUCCESS; }

static Result cuGetErrorName(int error, const char **text) {
    *text = error == NOT_SUPPORTED ? "CUDA_ERROR_NOT_SUPPORTED" : error == NOT_FOUND ? "CUDA_ERROR_NOT_FOUND" : "CUDA_ERROR";
    return SUCCESS;
}

static Result cuGetErrorString(int error, const char **text) {
    *text = "refused by the stand-in for the driver";
    return SUCCESS;
}

// Images. The caller keeps them for as long as the library is loaded.

static int is_elf(const void *image) { return memcmp(image, ELFMAG, SELFMAG) == 0; }

static int is_executable(const Elf64_Ehdr *header) {
    int number = header->e_flags >> 8 & 0xff;
    return header->e_machine == MACHINE_CUDA && header->e_type == ET_EXEC && number == capability();
}

static Result cuLibraryLoadData(void **library, const void *image, void *a, void *b, unsigned c, void *d, void *e, unsigned f) {
    *library = (void *)image;
    return !is_elf(image) || is_executable(image) ? SUCCESS : INVALID_IMAGE;
}

static Result cuLibraryUnload(void *library) { return SUCCESS; }

static Result cuLibraryGetKernel(void **kernel, void *library, const char *name) {
    const char *image = library;
    if (!is_elf(image)) {
        *kernel = strstr(image, name);
        return *kernel ? SUCCESS : NOT_FOUND;
    }
    const Elf64_Ehdr *header = library;
    const Elf64_Shdr *sections = (const void *)(image + header->e_shoff);
    for (int i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB) continue;
        const Elf64_Sym *symbols = (const void *)(image + sections[i].sh_offset);
        const char *names = image + sections[sections[i].sh_link].sh_offset;
        for (size_t j = 0; j < sections[i].sh_size / sizeof *symbols; j++) {
            int is_kernel = ELF64_ST_TYPE(symbols[j].st_info) == STT_FUNC && symbols[j].st_other & ENTRY && symbols[j].st_shndx;
            if (is_kernel && strcmp(names + symbols[j].st_name, name) == 0) {
                *kernel = (void *)&symbols[j];
                return SUCCESS;
            }
        }
    }
    return NOT_FOUND;
}

static Result not_supported(void) { return NOT_SUPPORTED; }

// An interface of the driver that is not public, for which the compiler asks. It does without.
Result cuGetExportTable(const void **table, const void *id) {
    *table = NULL;
    return NOT_FOUND;
}

Result cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status) {
#define ROW(function) { #function, (void *)function }
    static const struct { const char *name; void *function; } table[] = {
        ROW(cuInit), ROW(cuDriverGetVersion), ROW(cuDeviceGetCount), ROW(cuDeviceGet), ROW(cuDeviceGetName), ROW(cuDeviceGetUuid),
        ROW(cuDeviceGetAttribute), ROW(cuDevicePrimaryCtxRetain), ROW(cuDevicePrimaryCtxRelease), ROW(cuCtxGetCurrent),
        ROW(cuCtxPushCurrent), ROW(cuCtxPopCurrent), ROW(cuCtxSetCurrent), ROW(cuCtxGetDevice), ROW(cuCtxSynchronize),
        ROW(cuStreamCreateWithPriority), ROW(cuStreamSynchronize), ROW(cuStreamDestroy), ROW(cuGetErrorName), ROW(cuGetErrorString),
        ROW(cuLibraryLoadData), ROW(cuLibraryUnload), ROW(cuLibraryGetKernel), ROW(cuGetExportTable),
        {"cuGetProcAddress", (void *)cuGetProcAddress_v2}, ROW(cuGetProcAddress_v2),
    };
    if (status) *status = 0;
    *function = (void *)not_supported;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].name, name) == 0) *function = table[i].function;
    }
    return SUCCESS;
}
