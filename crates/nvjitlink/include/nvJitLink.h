/*
 * libnvJitLink, as cuweld provides it: linking CUDA device code while a program runs.
 *
 * The functions, their numbers and their meaning are those of NVIDIA's library of this name, versions 13.0 to 13.5; the words here are
 * cuweld's own. A program that is compiled with this header runs with either library.
 *
 *     nvJitLinkHandle link;
 *     const char *options[] = {"-arch=sm_90"};
 *     nvJitLinkCreate(&link, 1, options);
 *     nvJitLinkAddData(link, NVJITLINK_INPUT_CUBIN, bytes, size, "a.cubin");
 *     nvJitLinkComplete(link);
 *     nvJitLinkGetLinkedCubinSize(link, &linked_size);
 *     nvJitLinkGetLinkedCubin(link, buffer);
 *     nvJitLinkDestroy(&link);
 *
 * Links are independent of each other and may be made in many threads. Calls for one link wait for each other.
 * Licence: MIT or Apache-2.0, as you choose.
 */
#ifndef CUWELD_NVJITLINK_H
#define CUWELD_NVJITLINK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What every function returns. */
typedef enum {
    NVJITLINK_SUCCESS = 0,
    NVJITLINK_ERROR_UNRECOGNIZED_OPTION = 1,   /* an option is not known, or has a value that is not */
    NVJITLINK_ERROR_MISSING_ARCH = 2,          /* no -arch= was given */
    NVJITLINK_ERROR_INVALID_INPUT = 3,         /* an input can not be used, or what was asked for is not there */
    NVJITLINK_ERROR_PTX_COMPILE = 4,           /* PTX could not be compiled */
    NVJITLINK_ERROR_NVVM_COMPILE = 5,          /* intermediate code could not be compiled */
    NVJITLINK_ERROR_INTERNAL = 6,              /* the link failed, or its result is not there */
    NVJITLINK_ERROR_THREADPOOL = 7,            /* threads could not be started */
    NVJITLINK_ERROR_UNRECOGNIZED_INPUT = 8,    /* an input is of no kind that is known */
    NVJITLINK_ERROR_FINALIZE = 9,              /* machine code could not be generated */
    NVJITLINK_ERROR_NULL_INPUT = 10,           /* a pointer is null, or a handle is none */
    NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS = 11, /* options exclude each other */
    NVJITLINK_ERROR_INCORRECT_INPUT_TYPE = 12, /* an input is not of the kind that was said */
    NVJITLINK_ERROR_ARCH_MISMATCH = 13,        /* an input is for another GPU */
    NVJITLINK_ERROR_OUTDATED_LIBRARY = 14,     /* an input is newer than the library */
    NVJITLINK_ERROR_MISSING_FATBIN = 15,       /* an input holds no device code */
    NVJITLINK_ERROR_UNRECOGNIZED_ARCH = 16,    /* there is no such GPU */
    NVJITLINK_ERROR_UNSUPPORTED_ARCH = 17,     /* there is no linking for this GPU */
    NVJITLINK_ERROR_LTO_NOT_ENABLED = 18       /* intermediate code needs -lto */
} nvJitLinkResult;

/* What an input is. */
typedef enum {
    NVJITLINK_INPUT_NONE = 0,
    NVJITLINK_INPUT_CUBIN = 1,   /* a relocatable cubin */
    NVJITLINK_INPUT_PTX = 2,     /* PTX text */
    NVJITLINK_INPUT_LTOIR = 3,   /* intermediate code; needs -lto */
    NVJITLINK_INPUT_FATBIN = 4,  /* a fatbin */
    NVJITLINK_INPUT_OBJECT = 5,  /* a host object that holds device code */
    NVJITLINK_INPUT_LIBRARY = 6, /* an archive of such objects */
    NVJITLINK_INPUT_INDEX = 7,   /* an index of unified functions */
    NVJITLINK_INPUT_ANY = 10     /* the library finds out */
} nvJitLinkInputType;

/* A link. */
typedef struct nvJitLink *nvJitLinkHandle;

/*
 * Creates a link. Each option is one string:
 *   -arch=sm_NN            what to link for; always needed. compute_NN, if only PTX is made
 *   -r                     make an object for a later link
 *   -g  -lineinfo          keep everything for a debugger; keep line numbers of what is compiled
 *   -verbose  -time        say in the info log what kernels need, and how long the link took
 *   -kernels-used=NAME  -variables-used=NAME
 *                          remove other kernels; may be given several times
 *   -lto  -ptx             optimize intermediate code at link time; make PTX of it, and no machine code
 *   -O0 -O3 -Ofc=LEVEL -maxrregcount=N -Xptxas=OPTION -device-stack-protector
 *                          how PTX is compiled
 *   -ftz=N -prec-div=N -prec-sqrt=N -fma=N -split-compile=N -split-compile-extended=N -jump-table-density=N
 *   -optimize-unused-variables -no-cache -nvvm-latest -Xnvvm=OPTION
 *                          how intermediate code is optimized
 * Whatever the result, *handle can be asked for its logs, and has to be destroyed, unless the result is NVJITLINK_ERROR_NULL_INPUT.
 */
nvJitLinkResult nvJitLinkCreate(nvJitLinkHandle *handle, uint32_t numOptions, const char **options);

/* Ends a link and sets *handle to null. */
nvJitLinkResult nvJitLinkDestroy(nvJitLinkHandle *handle);

/* Adds an input from memory, which may be freed afterwards. The name is for logs and may be null. PTX is compiled now. */
nvJitLinkResult nvJitLinkAddData(nvJitLinkHandle handle, nvJitLinkInputType inputType, const void *data, size_t size, const char *name);

/* Adds an input from a file. */
nvJitLinkResult nvJitLinkAddFile(nvJitLinkHandle handle, nvJitLinkInputType inputType, const char *fileName);

/* Links. A link that fails has no result; its error log says why. */
nvJitLinkResult nvJitLinkComplete(nvJitLinkHandle handle);

/* The linked cubin: its size, then its bytes into a buffer of that size. */
nvJitLinkResult nvJitLinkGetLinkedCubinSize(nvJitLinkHandle handle, size_t *size);
nvJitLinkResult nvJitLinkGetLinkedCubin(nvJitLinkHandle handle, void *cubin);

/* With -lto -ptx, the linked PTX. A NUL ends it, which the size counts. */
nvJitLinkResult nvJitLinkGetLinkedPtxSize(nvJitLinkHandle handle, size_t *size);
nvJitLinkResult nvJitLinkGetLinkedPtx(nvJitLinkHandle handle, char *ptx);

/* With -lto, the linked intermediate code, where the toolkit's own library has this function (since 13.1). */
nvJitLinkResult nvJitLinkGetLinkedLTOIRSize(nvJitLinkHandle handle, size_t *size);
nvJitLinkResult nvJitLinkGetLinkedLTOIR(nvJitLinkHandle handle, void *ltoir);

/* The logs. A NUL ends them, which the size counts; the size of an empty log is 0. */
nvJitLinkResult nvJitLinkGetErrorLogSize(nvJitLinkHandle handle, size_t *size);
nvJitLinkResult nvJitLinkGetErrorLog(nvJitLinkHandle handle, char *log);
nvJitLinkResult nvJitLinkGetInfoLogSize(nvJitLinkHandle handle, size_t *size);
nvJitLinkResult nvJitLinkGetInfoLog(nvJitLinkHandle handle, char *log);

/* The version of the interface. */
nvJitLinkResult nvJitLinkVersion(unsigned int *major, unsigned int *minor);

#ifdef __cplusplus
}
#endif

#endif
