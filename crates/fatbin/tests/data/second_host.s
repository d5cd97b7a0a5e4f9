# Another one, with no references and a device linker's claim to have linked the first one.
	.section __nv_module_id,"a"
	.balign 16
	.asciz "_4567abcd_9_second_cu_second"
	.asciz "def _0123abcd_8_first_cu_first"
	.section __nv_relfatbin,"a"
	.balign 8
fatbin:
	.incbin "lz4.fatbin"
	.section .nv_fatbin,"a"
	.incbin "lz4.fatbin"
	.section .nvFatBinSegment,"aw"
	.balign 8
	.long 0x466243b1, 1
	.quad fatbin, 0
