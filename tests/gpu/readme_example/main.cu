// The example of the README, run.
#include "../../../examples/two_units/kernel.cu"
#include "../check.h"

int main() {
    float *values = host_visible<float>(100);
    for (int index = 0; index < 100; index += 1)
        values[index] = float(index);
    scale_all<<<1, 128>>>(values, 100);
    CHECK_LAUNCH();
    Verdict verdict;
    for (int index = 0; index < 100; index += 1)
        verdict.expect("scaled", values[index], index * 2.0f + 2.0f);
    return verdict.end();
}
