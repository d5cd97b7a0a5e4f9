#include "shape.h"

namespace {
struct Rectangle : Shape {
    int width, height;
    __device__ Rectangle(int width, int height) : width(width), height(height) {}
    __device__ int area() const override { return width * height; }
    __device__ int corners() const override { return 40; }
};
}

__device__ Shape *make_rectangle(int width, int height) { return new Rectangle(width, height); }

__device__ __noinline__ int sum_of_areas(const Shape *const *shapes, int count) {
    int sum = 0;
    for (int index = 0; index < count; index += 1)
        sum += shapes[index]->area();
    return sum;
}
