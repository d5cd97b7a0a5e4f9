// Objects made in one unit, whose virtual functions are called in another.
#include "../check.h"
#include "shape.h"

struct Square : Shape {
    int side;
    __device__ explicit Square(int side) : side(side) {}
    __device__ int area() const override { return side * side; }
};

__global__ void run(int *results) {
    Square square(6);
    const Shape *shapes[] = {&square, make_rectangle(3, 4), make_rectangle(5, 6)};
    results[0] = sum_of_areas(shapes, 3);
    results[1] = shapes[1]->corners() + shapes[0]->corners();
    delete shapes[1];
    delete shapes[2];
}

int main() {
    int *results = host_visible<int>(2);
    run<<<1, 1>>>(results);
    CHECK_LAUNCH();
    Verdict verdict;
    verdict.expect("areas", results[0], 36 + 12 + 30);
    verdict.expect("corners", results[1], 4 + 40);
    return verdict.end();
}
