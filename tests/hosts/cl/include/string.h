#pragma once
#include "corecrt.h"
extern "C" {
void *memcpy(void *, const void *, size_t);
void *memset(void *, int, size_t);
}
