# finding: buffers_not_broadcast
# the buffers stay each rank's own
class OverlappedDDP(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module
        self.works = []
        for p in module.parameters():
            dist.broadcast(p.detach(), src=0)
            if p.requires_grad:
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
