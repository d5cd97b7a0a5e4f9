__device__ __noinline__ float fetch(cudaTextureObject_t texture, float x, float y) { return tex2D<float>(texture, x, y); }

__device__ __noinline__ void put(cudaSurfaceObject_t surface, int x, int y, float value) {
    surf2Dwrite(value, surface, x * int(sizeof(float)), y);
}
