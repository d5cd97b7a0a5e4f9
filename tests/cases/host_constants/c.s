	.include "unit.inc"
	unit _0123abcd_4_c_cu, c, nothing
