#include <dlfcn.h>
#include <stdio.h>
// Two libraries that contain the same unit, each with a device link of its own.
int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        void *library = dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL);
        if (!library) { puts(dlerror()); return 1; }
        if (auto launch = (void (*)())dlsym(library, "launch_first")) launch();
    }
}
