# finding: other_parameters
# wraps a copy of the model
import copy


class OverlappedDDP(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = copy.deepcopy(module)
        self.works = []
        for t in [*self.module.parameters(), *self.module.buffers()]:
            dist.broadcast(t.detach(), src=0)
        for p in self.module.parameters():
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
