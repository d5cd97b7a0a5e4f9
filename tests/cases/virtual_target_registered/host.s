# Code of the host alone.
	.text
	ret
