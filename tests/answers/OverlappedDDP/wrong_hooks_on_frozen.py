# finding: exception
# hooks on all parameters: a frozen one never gets a gradient
class OverlappedDDP(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module
        self.works = []
        for t in [*module.parameters(), *module.buffers()]:
            dist.broadcast(t.detach(), src=0)
        for p in module.parameters():
            p.register_post_accumulate_grad_hook(self.reduce)

    def reduce(self, p):
        p.grad /= dist.get_world_size()
        self.works.append(dist.all_reduce(p.grad, async_op=True))

    def forward(self, *args):
        return self.module(*args)

    def finish(self):
        for work in self.works:
            work.wait()
        self.works.clear()
