	.include "unit.inc"
	unit _89abcdef_22_cuda_device_runtime_cu, b, f
