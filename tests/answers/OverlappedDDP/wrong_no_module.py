# finding: not_a_module
# an object that is no nn.Module
class OverlappedDDP:
    def __init__(self, module):
        self.module = module

    def __call__(self, *args):
        return self.module(*args)

    def finish(self):
        for p in self.module.parameters():
            if p.grad is not None:
                dist.all_reduce(p.grad)
