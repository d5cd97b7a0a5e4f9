#pragma once
#include "corecrt.h"
extern "C" {
void *malloc(size_t);
void free(void *);
int abs(int);
[[noreturn]] void exit(int);
long labs(long);
long long llabs(long long);
int atexit(void (*)(void));
}
extern "C" {
unsigned short _byteswap_ushort(unsigned short);
unsigned long _byteswap_ulong(unsigned long);
unsigned long long _byteswap_uint64(unsigned long long);
}
