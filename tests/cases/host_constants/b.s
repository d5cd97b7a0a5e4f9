	.include "unit.inc"
	unit _0123abcd_4_b_cu, b, nothing
