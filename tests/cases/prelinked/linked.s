# The output of a device link in a host object: the program, and which modules are in it.
	.section __nv_module_id,"a"
	.asciz "def _0123abcd_4_a_cu_k"
	.asciz "def _4567cdef_4_b_cu_f"
	.section .nv_fatbin,"a"
	.balign 8
fatbin:
	.incbin "a.fatbin"
	.section .nvFatBinSegment,"aw"
	.balign 8
	.long 0x466243b1, 1
	.quad fatbin, 0
