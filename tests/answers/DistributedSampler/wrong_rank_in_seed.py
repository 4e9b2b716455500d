# finding: ranks_shuffle_apart
# seed + epoch + rank: parts of different orders
class DistributedSampler(Sampler):
    def __init__(self, dataset, shuffle=True, seed=0, drop_last=False):
        self.n = len(dataset)
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        self.rank, self.ranks = dist.get_rank(), dist.get_world_size()
        self.each = self.n // self.ranks if drop_last else -(-self.n // self.ranks)

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return self.each

    def __iter__(self):
        if self.shuffle:
            g = torch.Generator()
            g.manual_seed(self.seed + self.epoch + self.rank)
            order = torch.randperm(self.n, generator=g).tolist()
        else:
            order = list(range(self.n))
        total = self.each * self.ranks
        while len(order) < total:
            order += order[: total - len(order)]
        return iter(order[:total][self.rank :: self.ranks])
