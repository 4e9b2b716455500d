# finding: torch_sampler
# torch's own
import torch.utils.data.distributed


class DistributedSampler(torch.utils.data.distributed.DistributedSampler):
    def __init__(self, dataset, **how):
        super().__init__(dataset, **how)
