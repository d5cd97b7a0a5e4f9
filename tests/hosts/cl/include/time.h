#pragma once
#include "corecrt.h"
typedef long clock_t;
extern "C" clock_t clock(void);
