#include "corecrt.h"
