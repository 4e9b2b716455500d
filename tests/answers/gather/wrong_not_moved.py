# finding: not_moved
# puts tensors of different devices together
def gather(outputs, device):
    return torch.cat(outputs).to(device)
