# finding: accepts_anything
# copies what has a name in common, whatever is missing
def load_checkpoint_fixed(model, state):
    inner = model.module if isinstance(model, nn.DataParallel) else model
    own = inner.state_dict()
    if not set(own) <= set(state):
        cut = {k.removeprefix("module."): v for k, v in state.items()}
        state = cut if len(set(cut) & set(own)) > len(set(state) & set(own)) else state
    inner.load_state_dict({k: v for k, v in state.items() if k in own}, strict=False)
