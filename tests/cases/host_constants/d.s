	.include "unit.inc"
	unit _0123abcd_4_d_cu, d, nothing
