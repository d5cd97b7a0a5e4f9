	.include "unit.inc"
	unit _0123abcd_4_other_cu, other
