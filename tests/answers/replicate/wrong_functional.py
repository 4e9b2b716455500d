# finding: shared_module
# puts tensors into the one module while it runs: two replicas at once mix them up
class Replica(nn.Module):
    def __init__(self, module, device):
        super().__init__()
        self.original = [module]  # in a list: not a module of this module
        moved = {}
        for name, tensor in (*module.named_parameters(), *module.named_buffers()):
            moved[name] = tensor.to(device)
        self.tensors = moved

    def forward(self, *args):
        return torch.func.functional_call(self.original[0], self.tensors, args)


def replicate(module, devices):
    return [Replica(module, d) for d in devices]
