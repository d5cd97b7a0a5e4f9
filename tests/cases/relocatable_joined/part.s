# Without names that host code refers to: there is no host code in it.
	.include "unit.inc"
	unit _home_part_o, part
