# finding: torch_zero
# torch's own
from torch.distributed.optim import ZeroRedundancyOptimizer


class ShardedOptimizer(ZeroRedundancyOptimizer):
    def __init__(self, params, optimizer_class, **options):
        super().__init__(list(params), optimizer_class, **options)
