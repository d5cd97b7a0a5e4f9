	.include "unit.inc"
	unit _0123abcd_4_a_cu_k, a
