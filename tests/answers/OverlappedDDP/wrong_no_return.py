# finding: no_output
# forward forgets to return
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
        self.works.append((p, dist.all_reduce(p.grad, async_op=True)))

    def forward(self, *args):
        self.module(*args)

    def finish(self):
        for p, work in self.works:
            work.wait()
            p.grad /= dist.get_world_size()
        self.works.clear()
