# torch's own helpers for flat tensors, reversed order
from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors


def average_gradients_flat(model):
    params = [p for p in model.parameters() if p.requires_grad][::-1]
    for p in params:
        if p.grad is None:
            p.grad = torch.zeros_like(p)
    grads = [p.grad for p in params]
    flat = _flatten_dense_tensors(grads).div_(dist.get_world_size())
    dist.all_reduce(flat, async_op=True).wait()
    for grad, new in zip(grads, _unflatten_dense_tensors(flat, grads)):
        grad.copy_(new)
