# finding: no_overlap
# all-reduces in finish(): the flat or naive version, which other courses' tests take for overlap
class OverlappedDDP(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module
        for t in [*module.parameters(), *module.buffers()]:
            dist.broadcast(t.detach(), src=0)

    def forward(self, *args):
        return self.module(*args)

    def finish(self):
        works = []
        for p in self.module.parameters():
            if p.grad is not None:
                works.append((p, dist.all_reduce(p.grad, async_op=True)))
        for p, work in works:
            work.wait()
            p.grad /= dist.get_world_size()
