#!/bin/sh
# build.sh SOURCES: makes the inputs of the differential test in the current folder. Needs the CUDA toolkit, gcc and binutils.
set -eu
sources=$1

# unit NAME OPTION...: an object of the source with its name up to the first dot.
unit() {
    name=$1
    shift
    nvcc -rdc=true -c "$@" "$sources/${name%%.*}.cu" -o "$name.o" &
}
for source in kernels helper nested alone; do
    unit $source -arch=sm_90
    unit $source.lto -gencode arch=compute_90,code=lto_90
done
wait
unit helper.ptx -lineinfo -gencode arch=compute_90,code=compute_90
unit helper.small -gencode arch=compute_90,code=lto_90 -maxrregcount=32
unit helper.fast -gencode arch=compute_90,code=lto_90 -ftz=true
unit kernels.both -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90
wait
nvcc -rdc=true -ptx -arch=sm_90 "$sources/helper.cu" -o helper.ptx
nvcc -rdc=true -cubin -arch=sm_90 "$sources/helper.cu" -o helper.cubin
nvcc -c -arch=sm_90 "$sources/alone.cu" -o whole.o
nvcc -dlink -arch=sm_90 kernels.o helper.o -o linked.o
fatbinary --create helper.fatbin -64 --image3 kind=elf,sm=90,file=helper.cubin
echo 'int host(void) { return 1; }' > host.c
gcc -c host.c -o host.o
gcc -shared -fPIC host.c -o host.so
: > empty.o
ar rc libhelper.a helper.o
ar rc libmixed.a helper.o host.o
ar rc libempty.a
ar rcT libthin.a helper.o
printf '.version 9.0\n.target sm_90\n.address_size 64\n.visible .entry bad() { nonsense; }\n' > bad.ptx
cp "$CUDA_HOME/lib/libcudadevrt.a" . 2>/dev/null || cp "$CUDA_HOME/lib64/libcudadevrt.a" .
