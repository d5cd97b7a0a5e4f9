#include "../../../examples/two_units/scale.cu"
