# divides before sending; closures as hooks; a dictionary of handles
class OverlappedDDP(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module
        self.works = {}
        self.n = dist.get_world_size()
        with torch.no_grad():
            for t in list(module.parameters()) + list(module.buffers()):
                dist.broadcast(t, 0)
        for i, p in enumerate(module.parameters()):
            if p.requires_grad:
                p.register_post_accumulate_grad_hook(self.make_hook(i))

    def make_hook(self, i):
        def hook(p):
            p.grad.div_(self.n)
            self.works[i] = dist.all_reduce(p.grad, async_op=True)

        return hook

    def forward(self, x):
        return self.module(x)

    def finish(self):
        while self.works:
            _, work = self.works.popitem()
            work.wait()
