// Two shared libraries contain the same unit of a static library, each with a device link of its own. With nvcc's, the second one registers
// through the first one's functions, which have seen all of their units already, so that its kernels are never registered.
#include <cstdio>
#include <dlfcn.h>

static int call(const char *library, const char *function) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);
    auto run = handle ? reinterpret_cast<int (*)()>(dlsym(handle, function)) : nullptr;
    return run ? run() : -9;
}

int main() {
    int first = call("./libone.so", "first_library");
    int second = call("./libother.so", "second_library");
    std::printf("first %d, second %d\n", first, second);
    std::puts(first == 2 && second == 4 ? "PASS" : "FAIL");
}
