// A stand-in for the CUDA runtime that writes down how it is called. What nvcc-made objects call, and nothing else.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct wrapper { uint32_t magic, version; const uint64_t *fatbin; void **prelinked; };

static const void *functions[64];
static const char *names[64];
static int count;
static void *handles[8];
static int handle_count;

static unsigned long checksum(const uint64_t *fatbin) {
    unsigned long sum = 0;
    const unsigned char *bytes = (const unsigned char *)fatbin;
    for (uint64_t i = 0; i < fatbin[1] + 16; i++) sum = sum * 31 + bytes[i];
    return sum;
}

void **__cudaRegisterFatBinary(void *argument) {
    const struct wrapper *wrapper = argument;
    int prelinked = 0;
    unsigned long sum = 0;
    for (void **next = wrapper->version == 2 ? wrapper->prelinked : 0; next && *next; next++, prelinked++) sum += checksum(*next);
    printf("register fatbin: magic %x version %u, %lu bytes, prelinked %d (%lx)\n", wrapper->magic, wrapper->version,
           (unsigned long)wrapper->fatbin[1], prelinked, sum);
    handles[handle_count] = argument;
    return &handles[handle_count++];
}
void __cudaRegisterFatBinaryEnd(void **handle) { printf("end of fatbin %ld\n", (long)((void **)handle - handles)); }
void __cudaUnregisterFatBinary(void **handle) { printf("unregister fatbin %ld\n", (long)((void **)handle - handles)); fflush(stdout); }
void __cudaRegisterFunction(void **handle, const void *function, char *device_function, const char *name, int limit, void *a, void *b,
                            void *c, void *d, int *e) {
    functions[count] = function;
    names[count++] = name;
    printf("register function %s of fatbin %ld\n", name, (long)((void **)handle - handles));
}
void __cudaRegisterVar(void **handle, char *variable, char *address, const char *name, int external, size_t size, int constant, int global) {
    printf("register variable %s of %zu bytes\n", name, size);
}
char __cudaInitModule(void **handle) { return 1; }
unsigned __cudaPushCallConfiguration(uint64_t a, uint32_t b, uint64_t c, uint32_t d, size_t shared, void *stream) { return 0; }
unsigned __cudaPopCallConfiguration(void *a, void *b, size_t *shared, void *stream) { return 0; }
int __cudaGetKernel(void **kernel, const void *function) { *kernel = (void *)function; return 0; }
static int launch(const void *function) {
    const char *name = "none that is registered";
    for (int i = 0; i < count; i++) if (functions[i] == function) name = names[i];
    printf("launch %s\n", name);
    return 0;
}
int cudaLaunchKernel(const void *function, uint64_t a, uint32_t b, uint64_t c, uint32_t d, void **arguments, size_t shared, void *stream) {
    return launch(function);
}
int __cudaLaunchKernel(const void *function, uint64_t a, uint32_t b, uint64_t c, uint32_t d, void **arguments, size_t shared, void *stream) {
    return launch(function);
}
