# finding: wrong_form
# nested outputs are not put together
def gather(outputs, device):
    if isinstance(outputs[0], torch.Tensor):
        return torch.cat([o.to(device) for o in outputs])
    return outputs
