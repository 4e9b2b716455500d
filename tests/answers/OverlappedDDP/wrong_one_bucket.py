# finding: no_overlap
# waits for the last gradient, then one flat all-reduce, started from the last hook
class OverlappedDDP(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module
        self.ready = []
        for t in [*module.parameters(), *module.buffers()]:
            dist.broadcast(t.detach(), src=0)
        self.params = [p for p in module.parameters() if p.requires_grad]
        for p in self.params:
            p.register_post_accumulate_grad_hook(self.reduce)

    def reduce(self, p):
        self.ready.append(p)
        if len(self.ready) == len(self.params):
            self.flat = torch.cat([p.grad.flatten() for p in self.ready])
            self.work = dist.all_reduce(self.flat, async_op=True)

    def forward(self, *args):
        return self.module(*args)

    def finish(self):
        self.work.wait()
        self.flat /= dist.get_world_size()
        for p, piece in zip(self.ready, self.flat.split([p.numel() for p in self.ready])):
            p.grad = piece.view_as(p)
        self.ready = []
