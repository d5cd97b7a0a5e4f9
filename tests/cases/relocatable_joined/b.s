	.include "unit.inc"
	unit _4567cdef_4_b_cu_f, b
