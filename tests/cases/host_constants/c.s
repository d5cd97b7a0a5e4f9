	.include "unit.inc"
	unit c, ""
