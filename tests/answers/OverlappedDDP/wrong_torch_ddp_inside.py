# finding: torch_ddp
# torch's DDP behind a wrapper of one's own
class OverlappedDDP(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.ddp = DDP(module, find_unused_parameters=True)

    def forward(self, *args):
        return self.ddp(*args)

    def finish(self):
        pass
