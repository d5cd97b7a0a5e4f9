__constant__ float factor = 2.0f;

__device__ float scale(float value) { return value * factor; }

__device__ float unused(float value) { return value - factor; }
