# finding: too_many_calls
# a hook for each name: the shared weight has two, and is reduced twice
class OverlappedDDP(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module
        self.works = []
        for t in [*module.parameters(), *module.buffers()]:
            dist.broadcast(t.detach(), src=0)
        for _, p in module.named_parameters(remove_duplicate=False):
            if p.requires_grad:
                p.register_post_accumulate_grad_hook(self.reduce)

    def reduce(self, p):
        self.works.append(dist.all_reduce(p.grad, op=dist.ReduceOp.AVG, async_op=True))

    def forward(self, *args):
        return self.module(*args)

    def finish(self):
        for work in self.works:
            work.wait()
        self.works.clear()
