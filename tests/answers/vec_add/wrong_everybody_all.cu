// finding: many_each
// every thread does the whole vector
__global__ void vec_add(const float* a, const float* b, float* c, int n) {
    for (int i = 0; i < n; i++) c[i] = a[i] + b[i];
}
