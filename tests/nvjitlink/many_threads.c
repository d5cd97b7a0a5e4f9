/*
 * Sixteen threads link sixteen different programs at once, many times. Every link must give the bytes that it gives alone.
 *
 *     many_threads FOLDER ROUNDS       # FOLDER has kernel.cubin and step_0.cubin to step_15.cubin
 */
#include <nvJitLink.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 16

struct bytes {
    unsigned char *data;
    size_t size;
};

static struct bytes kernel, step[THREADS], expected[THREADS];
static int rounds;

static struct bytes read_file(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    fseek(file, 0, SEEK_END);
    struct bytes bytes = {NULL, (size_t)ftell(file)};
    rewind(file);
    bytes.data = malloc(bytes.size);
    if (bytes.data == NULL || fread(bytes.data, 1, bytes.size, file) != bytes.size)
        exit(1);
    fclose(file);
    return bytes;
}

/* Links the program of a thread; no bytes when anything fails. */
static struct bytes link_program(int index)
{
    const char *options[] = {"-arch=sm_90", "-verbose"};
    struct bytes linked = {NULL, 0};
    nvJitLinkHandle link;
    if (nvJitLinkCreate(&link, 2, options) == NVJITLINK_SUCCESS &&
        nvJitLinkAddData(link, NVJITLINK_INPUT_CUBIN, kernel.data, kernel.size, "kernel") == NVJITLINK_SUCCESS &&
        nvJitLinkAddData(link, NVJITLINK_INPUT_ANY, step[index].data, step[index].size, "step") == NVJITLINK_SUCCESS &&
        nvJitLinkComplete(link) == NVJITLINK_SUCCESS && nvJitLinkGetLinkedCubinSize(link, &linked.size) == NVJITLINK_SUCCESS) {
        linked.data = malloc(linked.size);
        if (linked.data == NULL || nvJitLinkGetLinkedCubin(link, linked.data) != NVJITLINK_SUCCESS)
            linked.size = 0;
    }
    nvJitLinkDestroy(&link);
    return linked;
}

static void *work(void *argument)
{
    int index = (int)(size_t)argument;
    size_t wrong = 0;
    for (int round = 0; round < rounds; round++) {
        struct bytes linked = link_program(index);
        if (linked.size != expected[index].size || memcmp(linked.data, expected[index].data, linked.size) != 0)
            wrong++;
        free(linked.data);
    }
    return (void *)wrong;
}

int main(int count, char **arguments)
{
    if (count < 3)
        return 2;
    rounds = atoi(arguments[2]);
    kernel = read_file(arguments[1], "kernel.cubin");
    for (int index = 0; index < THREADS; index++) {
        char name[32];
        snprintf(name, sizeof name, "step_%d.cubin", index);
        step[index] = read_file(arguments[1], name);
        expected[index] = link_program(index);
        if (expected[index].size == 0) {
            printf("FAIL program %d does not link\n", index);
            return 1;
        }
    }
    pthread_t threads[THREADS];
    size_t wrong = 0;
    for (int index = 0; index < THREADS; index++)
        if (pthread_create(&threads[index], NULL, work, (void *)(size_t)index) != 0)
            return 1;
    for (int index = 0; index < THREADS; index++) {
        void *result;
        pthread_join(threads[index], &result);
        wrong += (size_t)result;
    }
    for (int index = 0; index < THREADS; index++) {
        free(step[index].data);
        free(expected[index].data);
    }
    free(kernel.data);
    printf("%s %d links in %d threads, %zu of them wrong\n", wrong == 0 ? "PASS" : "FAIL", rounds * THREADS, THREADS, wrong);
    return wrong != 0;
}
