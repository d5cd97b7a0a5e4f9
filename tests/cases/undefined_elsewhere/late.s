# A host object as a CUDA compiler makes it, without the host code.
	.section .nv_fatbin,"a"
	.balign 8
fatbin:
	.incbin "late.fatbin"
	.section .nvFatBinSegment,"aw"
	.balign 8
	.long 0x466243b1, 1
	.quad fatbin, 0
# What a compiler leaves of a device function on the host.
	.text
	.globl not_relocatable
not_relocatable:
	hlt
