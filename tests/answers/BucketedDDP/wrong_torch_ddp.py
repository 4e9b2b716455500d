# finding: torch_ddp
# torch's DDP, which has buckets
class BucketedDDP(nn.Module):
    def __init__(self, module, bucket_mb=25.0):
        super().__init__()
        self.ddp = DDP(module, bucket_cap_mb=bucket_mb, find_unused_parameters=True)

    def forward(self, *args):
        return self.ddp(*args)

    def finish(self):
        pass
