# finding: wrong_gradient
# divides behind the back of an all-reduce that is still under way
class OverlappedDDP(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module
        self.works = []
        for t in [*module.parameters(), *module.buffers()]:
            dist.broadcast(t.detach(), src=0)
        for p in module.parameters():
            if p.requires_grad:
                p.register_post_accumulate_grad_hook(self.reduce)

    def reduce(self, p):
        total = p.grad.clone()
        self.works.append((p, total / dist.get_world_size(), dist.all_reduce(total, async_op=True)))

    def forward(self, *args):
        return self.module(*args)

    def finish(self):
        for p, mean, work in self.works:
            work.wait()
            p.grad = mean
        self.works.clear()
