# A host object as a CUDA compiler makes it, without the host code.
	.section __nv_module_id,"a"
	.balign 16
	.asciz "_0123abcd_8_first_cu_first"
	.section __nv_relfatbin,"a"
	.balign 8
fatbin:
	.incbin "zstd.fatbin"
	.section .nvFatBinSegment,"aw"
	.balign 8
	.long 0x466243b1, 1
	.quad fatbin, 0
	.section .nvHRKE,"a"
	.asciz "first"
	.asciz "_Z8templateI*"
	.section .nvHRKI,"a"
	.byte 0
	.section .nvHRDE,"a"
	.asciz "variable"
	.section .nvHRDI,"a"
	.byte 0
	.section .nvHRCE,"a"
	.byte 0
	.section .nvHRCI,"a"
	.asciz "__nv_static_*table"
