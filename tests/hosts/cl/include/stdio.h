#pragma once
#include "corecrt.h"
extern "C" int printf(const char *, ...);
