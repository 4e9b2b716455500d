# %% prelude

# %% [markdown] exercise broadcast_model
# TODO

# %% answer broadcast_model
def broadcast_model(model: nn.Module) -> None:
    """Give all ranks rank 0's model: its parameters and its buffers, in place.

    Every tensor is sent once, also one that two layers share. Frozen parameters, buffers of
    integers and buffers that are not in the state dict belong to the model as well.

    Args:
        model: of the same structure on all ranks; its numbers may differ.
    """
    ### BEGIN SOLUTION
    with torch.no_grad():
        for tensor in (*model.parameters(), *model.buffers()):
            dist.broadcast(tensor, src=0)
    ### END SOLUTION


# %% check broadcast_model

# %% [markdown] exercise average_gradients
# TODO

# %% answer average_gradients
def average_gradients(model: nn.Module) -> None:
    """Replace every gradient by its mean over all ranks, with one all-reduce for each parameter.

    To be called after backward, by all ranks. Frozen parameters (requires_grad=False) are left
    out, on all ranks. A trainable parameter whose gradient is None on this rank counts as zeros:
    another rank may have one, and it is the number of ranks that divides.

    Args:
        model: the same on all ranks, each with the gradients of its own part of the batch.
    """
    ### BEGIN SOLUTION
    for param in model.parameters():
        if param.requires_grad:
            if param.grad is None:
                param.grad = torch.zeros_like(param)
            dist.all_reduce(param.grad)
            param.grad /= dist.get_world_size()
    ### END SOLUTION


# %% check average_gradients

# %% [markdown] exercise average_gradients_flat
# TODO

# %% answer average_gradients_flat
def average_gradients_flat(model: nn.Module) -> None:
    """As average_gradients, with a single all-reduce for the whole model.

    Args:
        model: the same on all ranks; all its parameters are of one dtype.
    """
    ### BEGIN SOLUTION
    params = [param for param in model.parameters() if param.requires_grad]
    grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in params]
    flat = torch.cat([grad.flatten() for grad in grads])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for param, piece in zip(params, flat.split([param.numel() for param in params])):
        param.grad = piece.view_as(param)
    ### END SOLUTION


# %% check average_gradients_flat

# %% [markdown] exercise OverlappedDDP
# TODO

# %% answer OverlappedDDP
class OverlappedDDP(nn.Module):
    """A model whose gradients are averaged over all ranks, each as soon as it is ready.

        ddp = OverlappedDDP(model)
        loss_function(ddp(x), y).backward()
        ddp.finish()
        optimizer.step()
    """

    def __init__(self, module: nn.Module) -> None:
        """Keep the module, with rank 0's parameters and buffers on all ranks.

        Its parameters stay the objects that they are: an optimizer may hold them already.
        """
        super().__init__()
        ### BEGIN SOLUTION
        self.module = module
        self._started = []
        for tensor in (*module.parameters(), *module.buffers()):
            dist.broadcast(tensor.detach(), src=0)
        for param in module.parameters():
            if param.requires_grad:
                param.register_post_accumulate_grad_hook(self._start)
        ### END SOLUTION

    def forward(self, *args, **kwargs):
        """What the module itself returns."""
        ### BEGIN SOLUTION
        return self.module(*args, **kwargs)

    def _start(self, param):
        work = dist.all_reduce(param.grad, async_op=True)
        self._started.append((work, param))
        ### END SOLUTION

    def finish(self) -> None:
        """Come back when every gradient is the mean over all ranks."""
        ### BEGIN SOLUTION
        for work, param in self._started:
            work.wait()
            param.grad /= dist.get_world_size()
        self._started.clear()
        ### END SOLUTION


# %% check OverlappedDDP

# %% [markdown] exercise BucketedDDP
# TODO

# %% answer BucketedDDP
class BucketedDDP(nn.Module):
    """As OverlappedDDP, with the gradients of several parameters in one all-reduce.

    Buckets are filled with the trainable parameters in reverse order of module.parameters(). A
    parameter that would bring a bucket above bucket_mb begins the next bucket; one that is larger
    than bucket_mb by itself has a bucket of its own.
    """

    def __init__(self, module: nn.Module, bucket_mb: float = 25.0) -> None:
        """Keep the module, with rank 0's parameters and buffers on all ranks.

        Args:
            module: its parameters are of one dtype; some may never get a gradient.
            bucket_mb: the limit of a bucket, in MB of 1024 × 1024 bytes.
        """
        super().__init__()
        ### BEGIN SOLUTION
        self.module = module
        for tensor in (*module.parameters(), *module.buffers()):
            dist.broadcast(tensor.detach(), src=0)
        self._buckets = self._fill(bucket_mb * 2**20)
        self._bucket_of = {p: i for i, bucket in enumerate(self._buckets) for p in bucket}
        for param in self._bucket_of:
            param.register_post_accumulate_grad_hook(self._ready)
        self._reset()

    def _fill(self, limit):
        buckets, filled = [], math.inf
        for param in reversed([p for p in self.module.parameters() if p.requires_grad]):
            size = param.numel() * param.element_size()
            if filled + size > limit:
                buckets.append([])
                filled = 0
            buckets[-1].append(param)
            filled += size
        return buckets

    def _reset(self):
        self._missing = [len(bucket) for bucket in self._buckets]
        self._started = {}

    def _ready(self, param):
        index = self._bucket_of[param]
        self._missing[index] -= 1
        if self._missing[index] == 0:
            self._start(index)

    def _start(self, index):
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in self._buckets[index]]
        flat = torch.cat([grad.flatten() for grad in grads])
        self._started[index] = flat, dist.all_reduce(flat, async_op=True)
        ### END SOLUTION

    def forward(self, *args, **kwargs):
        """What the module itself returns."""
        ### BEGIN SOLUTION
        return self.module(*args, **kwargs)
        ### END SOLUTION

    def finish(self) -> None:
        """Come back when every gradient is the mean over all ranks."""
        ### BEGIN SOLUTION
        for index, bucket in enumerate(self._buckets):
            if index not in self._started:
                self._start(index)
        for index, (flat, work) in self._started.items():
            work.wait()
            flat /= dist.get_world_size()
            bucket = self._buckets[index]
            for param, piece in zip(bucket, flat.split([p.numel() for p in bucket])):
                param.grad = piece.view_as(param)
        self._reset()
        ### END SOLUTION


# %% check BucketedDDP

# %% [markdown] exercise no_sync
# TODO

# %% answer no_sync
def no_sync(ddp: DDP, micro_batches: list, loss_function) -> None:
    """Leave in the parameters' gradients those of the mean loss over all rows of all ranks.

    The batch comes in micro-batches, one after the other; their activations do not fit into
    memory together. Gradients are exchanged once, whatever the number of micro-batches.

    Args:
        ddp: torch's DistributedDataParallel; its gradients are None or zero.
        micro_batches: pairs (x, y), at least one. Their numbers of rows may differ from each
            other, but not from rank to rank.
        loss_function: loss_function(ddp(x), y) is the mean loss over the rows of x.
    """
    ### BEGIN SOLUTION
    rows = sum(len(x) for x, _ in micro_batches)
    for i, (x, y) in enumerate(micro_batches):
        last = i == len(micro_batches) - 1
        with contextlib.nullcontext() if last else ddp.no_sync():
            loss = loss_function(ddp(x), y) * (len(x) / rows)
            loss.backward()
    ### END SOLUTION


# %% check no_sync

# %% [markdown] exercise unused_parameters
# TODO

# %% answer unused_parameters
def unused_parameters(model: nn.Module) -> list[str]:
    """Average the gradients over all ranks, and name the parameters that no rank used.

    To be called after backward, by all ranks. A trainable parameter without a gradient (None) was
    not used on this rank. If some rank used it, all ranks get the mean over all ranks, in which
    None counts as zeros. If no rank did, it keeps None on all ranks.

    Args:
        model: the same on all ranks.

    Returns:
        The names of the trainable parameters that no rank used: the same on every rank.
    """
    ### BEGIN SOLUTION
    trained = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    users = torch.tensor([float(p.grad is not None) for _, p in trained], device=trained[0][1].device)
    dist.all_reduce(users)
    nobody = []
    for (name, param), count in zip(trained, users.tolist()):
        if count == 0:
            nobody.append(name)
            continue
        if param.grad is None:
            param.grad = torch.zeros_like(param)
        dist.all_reduce(param.grad)
        param.grad /= dist.get_world_size()
    return nobody
    ### END SOLUTION


# %% check unused_parameters
