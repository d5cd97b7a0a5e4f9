/* What the toolkit's headers need of the C library's, and nothing more: this is for compiling, not for linking. */
#pragma once
#define _CRTIMP
#define _ACRTIMP
#define __CRTDECL __cdecl
#define _CRT_JIT_INTRINSIC
typedef unsigned long long size_t;
typedef long long ptrdiff_t;
typedef long long time_t;
