	.include "unit.inc"
	unit b, ""
