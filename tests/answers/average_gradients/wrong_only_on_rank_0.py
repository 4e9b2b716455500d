# finding: missing_peer
# a collective under if rank == 0
def average_gradients(model):
    if dist.get_rank() == 0:
        for param in model.parameters():
            if param.grad is not None:
                dist.all_reduce(param.grad)
