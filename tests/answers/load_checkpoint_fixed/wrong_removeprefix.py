# finding: refused
# cuts a prefix that is no prefix, but a part called module
def load_checkpoint_fixed(model, state):
    inner = model.module if isinstance(model, nn.DataParallel) else model
    inner.load_state_dict({k.removeprefix("module."): v for k, v in state.items()})
