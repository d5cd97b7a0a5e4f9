# A host object as a CUDA compiler makes it, without the host code.
	.section __nv_module_id,"a"
	.balign 16
	.asciz "_0123abcd_4_a_cu_k"
	.section __nv_relfatbin,"a"
	.balign 8
fatbin:
	.incbin "a.fatbin"
	.section .nvFatBinSegment,"aw"
	.balign 8
	.long 0x466243b1, 1
	.quad fatbin, 0
	.section .nvHRKE,"a"
	.asciz "k"
	.section .nvHRKI,"a"
	.byte 0
	.section .nvHRDE,"a"
	.byte 0
	.section .nvHRDI,"a"
	.byte 0
	.section .nvHRCE,"a"
	.byte 0
	.section .nvHRCI,"a"
	.byte 0
