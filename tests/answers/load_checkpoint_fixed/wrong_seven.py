# finding: refused
# cuts seven characters off every name, prefix or not (C61)
def load_checkpoint_fixed(model, state):
    inner = model.module if isinstance(model, nn.DataParallel) else model
    inner.load_state_dict({k[7:]: v for k, v in state.items()})
