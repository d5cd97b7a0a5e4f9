#!/bin/sh
# Makes the samples in this folder from the sources beside it. Needs the CUDA toolkit and binutils.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for unit in first second; do
    ptxas -c -arch=sm_90 $unit.ptx -o "$work/$unit.cubin"
done
nvcc -ltoir -dc -gencode arch=compute_90,code=lto_90 first.cu -o "$work/first.ltoir"

# fatbin NAME UNIT OPTION...: a fatbin with machine code and PTX.
fatbin() {
    name=$1 unit=$2
    shift 2
    fatbinary --create $name.fatbin -64 -c --ident=$unit.cu --cmdline='-maxrregcount=32 ' "$@" \
        --image3 kind=elf,sm=90,file="$work/$unit.cubin" --image3 kind=ptx,sm=90,file=$unit.ptx
}
fatbin zstd first
fatbin lz4 second --compress-mode=speed
fatbin stored first --compress-mode=none
fatbinary --create lto.fatbin -64 -c --cicc-cmdline='-ftz=0 -prec_div=1 ' \
    --image3 kind=nvvm,sm=90,file="$work/first.ltoir"

# From here on with the toolkit of CUDA 13.4, if that is another one.
images=
for sm in 75 80 90 100 120; do
    ptxas -c -arch=sm_$sm first.ptx -o "$work/$sm.cubin" 2>/dev/null && images="$images --image3=kind=elf,sm=$sm,file=$work/$sm.cubin"
done
fatbinary --create=concat.fatbin -64 --concat $images --image3=kind=ptx,sm=75,file=first.ptx --ident=kk

as host.s -o host_x86_64.o
as second_host.s -o "$work/second.o"
ld -r host_x86_64.o "$work/second.o" -o joined_x86_64.o
rm -f gnu.a thin.a
ar rcD gnu.a zstd.fatbin "$work/second.cubin"
cp lto.fatbin "$work/a_name_longer_than_the_field_has_room_for.fatbin"
ar rcD gnu.a "$work/a_name_longer_than_the_field_has_room_for.fatbin"
ar rcDT thin.a host_x86_64.o gnu.a
