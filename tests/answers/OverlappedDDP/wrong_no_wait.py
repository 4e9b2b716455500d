# finding: not_waited
# starts the all-reduces, and never waits
class OverlappedDDP(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module
        for t in [*module.parameters(), *module.buffers()]:
            dist.broadcast(t.detach(), src=0)
        for p in module.parameters():
            if p.requires_grad:
                p.register_post_accumulate_grad_hook(self.reduce)

    def reduce(self, p):
        p.grad /= dist.get_world_size()
        dist.all_reduce(p.grad, async_op=True)

    def forward(self, *args):
        return self.module(*args)

    def finish(self):
        pass
