# finding: wrong_len
# size // ranks + 1 is no rounding up
class DistributedSampler(Sampler):
    def __init__(self, dataset, shuffle: bool = True, seed: int = 0, drop_last: bool = False):
        self.n = len(dataset)
        self.shuffle, self.seed, self.drop_last = shuffle, seed, drop_last
        self.epoch = 0
        self.ranks, self.rank = dist.get_world_size(), dist.get_rank()
        self.length = self.n // self.ranks if drop_last else self.n // self.ranks + 1

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self):
        if self.shuffle:
            g = torch.Generator()
            g.manual_seed(self.seed + self.epoch)
            order = torch.randperm(self.n, generator=g).tolist()
        else:
            order = list(range(self.n))
        total = self.length * self.ranks
        order = (order * self.ranks)[:total]
        return iter(order[self.rank::self.ranks])

    def __len__(self) -> int:
        return self.length
