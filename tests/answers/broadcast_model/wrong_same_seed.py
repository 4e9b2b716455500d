# finding: not_broadcast
# "set the same seed everywhere" after the model has been made
def broadcast_model(model):
    torch.manual_seed(0)
