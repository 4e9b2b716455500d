# waits for futures, not handles; reduces a copy and assigns it
class OverlappedDDP(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module
        self.pending = []
        for t in [*module.parameters(), *module.buffers()]:
            dist.broadcast(t.data, src=0)
        for p in module.parameters():
            if p.requires_grad:
                p.register_post_accumulate_grad_hook(lambda p: self.start(p))

    def start(self, p):
        copy = p.grad / dist.get_world_size()
        future = dist.all_reduce(copy, async_op=True).get_future()
        self.pending.append((p, copy, future))

    def forward(self, *args, **kwargs):
        return self.module.forward(*args, **kwargs)

    def finish(self):
        for p, copy, future in self.pending:
            future.wait()
            p.grad = copy
        self.pending = []
