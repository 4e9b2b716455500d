class Replica(nn.Module):
    """A copy of the module's form, into which its own tensors are put while it runs."""

    def __init__(self, module, device):
        super().__init__()
        self.form = [copy.deepcopy(module)]  # in a list: not a module of this module
        self.tensors = {}
        for name, tensor in (*module.named_parameters(), *module.named_buffers()):
            self.tensors[name] = tensor.to(device)

    def forward(self, *args):
        return torch.func.functional_call(self.form[0], self.tensors, args)


def replicate(module, devices):
    return [Replica(module, d) for d in devices]
