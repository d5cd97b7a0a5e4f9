// A texture object and a surface object, read and written by functions of another unit.
#include "../check.h"

extern __device__ float fetch(cudaTextureObject_t texture, float x, float y);
extern __device__ void put(cudaSurfaceObject_t surface, int x, int y, float value);

__global__ void write(cudaSurfaceObject_t surface) { put(surface, threadIdx.x, threadIdx.y, threadIdx.x + 10.0f * threadIdx.y); }

__global__ void read(cudaTextureObject_t texture, float *results) {
    results[0] = fetch(texture, 2.5f, 3.5f);
    results[1] = fetch(texture, 3.0f, 3.5f);
}

int main() {
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array = nullptr;
    CHECK(cudaMallocArray(&array, &format, 8, 8, cudaArraySurfaceLoadStore));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc description = {};
    description.filterMode = cudaFilterModeLinear;
    description.readMode = cudaReadModeElementType;
    cudaSurfaceObject_t surface = 0;
    cudaTextureObject_t texture = 0;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
    write<<<1, dim3(8, 8)>>>(surface);
    CHECK_LAUNCH();
    float *results = host_visible<float>(2);
    read<<<1, 1>>>(texture, results);
    CHECK_LAUNCH();
    Verdict verdict;
    verdict.expect("at a point", results[0], 32.0f);
    verdict.expect("between two", results[1], 32.5f);
    return verdict.end();
}
