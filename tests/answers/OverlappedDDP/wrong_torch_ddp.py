# finding: torch_ddp
# torch's DDP with a finish() that does nothing
class OverlappedDDP(DDP):
    def finish(self):
        pass
