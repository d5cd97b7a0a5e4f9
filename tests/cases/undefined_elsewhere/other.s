# A host object as a CUDA compiler makes it, without the host code.
	.section __nv_module_id,"a"
	.balign 16
	.asciz "_0123abcd_4_other_cu"
	.section __nv_relfatbin,"a"
	.balign 8
fatbin:
	.incbin "other.fatbin"
	.section .nvFatBinSegment,"aw"
	.balign 8
	.long 0x466243b1, 1
	.quad fatbin, 0
