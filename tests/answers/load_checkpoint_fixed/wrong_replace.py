# finding: refused
# takes module. out of the middle of names, too
def load_checkpoint_fixed(model, state):
    inner = model.module if isinstance(model, nn.DataParallel) else model
    inner.load_state_dict({k.replace("module.", ""): v for k, v in state.items()})
