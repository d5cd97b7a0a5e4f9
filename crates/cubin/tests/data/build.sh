#!/bin/sh
# Makes the cubins of this folder anew. The tests need only the cubins; this needs ptxas and nvlink 13.0.
set -eu
cd "$(dirname "$0")"
unit() { # target, source, result, options
    target=$1 source=$2 result=$3
    shift 3
    sed "s/TARGET/$target/" "$source.ptx" > "$result.tmp"
    ptxas -c -arch="$target" "$@" "$result.tmp" -o "$result.cubin"
    rm "$result.tmp"
}
for number in 75 80 90 120; do
    unit "sm_$number" kernel "kernel_$number"
done
unit sm_90 device device_90
unit sm_90 device lineinfo_90 --generate-line-info
unit sm_120 device device_120
nvlink -arch=sm_90 kernel_90.cubin device_90.cubin -o linked_90.cubin
nvlink -arch=sm_120 kernel_120.cubin device_120.cubin -o linked_120.cubin
rm device_90.cubin device_120.cubin
