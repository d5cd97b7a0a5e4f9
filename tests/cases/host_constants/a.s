	.include "unit.inc"
	unit a, "used"
