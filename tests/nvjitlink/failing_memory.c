// Links while memory runs out, at every place where it can: the library answers with an error, and the process goes on.
//
// usage: failing_memory INPUT [--first]
//
// The program has the C library's functions that give memory. For each N there is a process, in which the Nth call of these fails, once or
// from there on until the link is over. Then the link is repeated with all memory, which must give the same file as ever. Threads are
// started before that; with --first they are not: what the system takes for itself to start them ends the process where it is not there.

#define _GNU_SOURCE
#include "nvJitLink.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);

#define NEVER (1L << 40)
static atomic_long calls;
static long first = -1, last = -1;

/// Whether this call is one that fails.
static bool fails(void) {
    if (first < 0) return false;
    long call = atomic_fetch_add(&calls, 1);
    if (call < first || call > last) return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { return fails() ? NULL : __libc_calloc(count, size); }
void *realloc(void *memory, size_t size) { return fails() ? NULL : __libc_realloc(memory, size); }
int posix_memalign(void **memory, size_t alignment, size_t size) {
    return fails() || !(*memory = __libc_memalign(alignment, size)) ? ENOMEM : 0;
}

static char *input;
static size_t input_size;

/// Links, and gives the size of the file; none if there is an error.
static nvJitLinkResult link_once(size_t *size) {
    const char *options[] = {"-arch=sm_90"};
    nvJitLinkHandle handle = NULL;
    nvJitLinkResult result = nvJitLinkCreate(&handle, 1, options);
    if (!result) result = nvJitLinkAddData(handle, NVJITLINK_INPUT_ANY, input, input_size, "input");
    if (!result) result = nvJitLinkComplete(handle);
    if (!result) result = nvJitLinkGetLinkedCubinSize(handle, size);
    // Whoever is told of an error asks for the log.
    static char log[1 << 16];
    size_t log_size = 0;
    if (handle && result && !nvJitLinkGetErrorLogSize(handle, &log_size) && log_size < sizeof log) nvJitLinkGetErrorLog(handle, log);
    if (handle) nvJitLinkDestroy(&handle);
    return result;
}

/// One process in which calls fail. Writes how many there were, and gives what came of it.
static int child(int pipe, bool is_first, long from, long to) {
    size_t size = 0, again = 0;
    if (!is_first && link_once(&size)) return 4;
    first = from, last = to;
    nvJitLinkResult result = link_once(&size);
    first = -1;
    long made = atomic_load(&calls);
    if (write(pipe, &made, sizeof made) != sizeof made) return 4;
    if (link_once(&again) || again == 0) return 2;
    if (!result) return size == again ? 0 : 3;
    return result == NVJITLINK_ERROR_INTERNAL ? 1 : 5;
}

int main(int count, char **words) {
    FILE *file = count > 1 ? fopen(words[1], "rb") : NULL;
    if (!file || fseek(file, 0, SEEK_END)) return fprintf(stderr, "usage: failing_memory INPUT [--first]\n"), 2;
    input_size = (size_t)ftell(file);
    rewind(file);
    input = malloc(input_size + 1);
    if (fread(input, 1, input_size, file) != input_size) return 2;
    bool is_first = count > 2 && !strcmp(words[2], "--first");
    static const char *const outcomes[] = {"linked", "an error", "broken afterwards", "another file", "no link", "another result", "ended"};
    bool is_wrong = false;
    long total = 1;
    for (int forever = 0; forever < 2; forever++) {
        long seen[7] = {0};
        // The first process only counts the calls.
        for (long number = -1; number < total; number++) {
            int ends[2], status;
            if (pipe(ends)) return 2;
            fflush(stdout);
            pid_t process = fork();
            if (process == 0) {
                close(2);
                _exit(child(ends[1], is_first, number < 0 ? NEVER : number, forever ? NEVER : number));
            }
            close(ends[1]);
            long made = 0;
            if (read(ends[0], &made, sizeof made) == sizeof made && made > total) total = made;
            close(ends[0]);
            waitpid(process, &status, 0);
            int outcome = WIFEXITED(status) && WEXITSTATUS(status) < 6 ? WEXITSTATUS(status) : 6;
            seen[outcome] += number >= 0;
            if (outcome > 1) printf("call %ld%s: %s (status %#x)\n", number, forever ? " and all later" : "", outcomes[outcome], status), is_wrong = true;
        }
        printf("%s:", forever ? "from a call on" : "one call");
        for (int outcome = 0; outcome < 7; outcome++) printf(" %ld %s%s", seen[outcome], outcomes[outcome], outcome < 6 ? "," : "\n");
        fflush(stdout);
    }
    return is_wrong;
}
