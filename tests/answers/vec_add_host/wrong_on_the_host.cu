// finding: not_on_device
// computes on the host
void vec_add_host(const float* a, const float* b, float* c, int n) {
    for (int i = 0; i < n; ++i) c[i] = a[i] + b[i];
}
