# A function of the host.
	.text
	.globl host_only
host_only:
	ret
