	.include "unit.inc"
	unit d, ""
