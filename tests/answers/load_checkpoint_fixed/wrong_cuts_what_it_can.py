# finding: refused
# cuts module. whenever all names begin with it, and some models' own do
def load_checkpoint_fixed(model, state):
    inner = model.module if isinstance(model, nn.DataParallel) else model
    if all(name.startswith("module.") for name in state):
        state = {name[7:]: tensor for name, tensor in state.items()}
    inner.load_state_dict(state)
