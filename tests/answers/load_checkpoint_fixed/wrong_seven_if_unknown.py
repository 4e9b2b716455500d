# finding: accepts_anything
# cuts seven characters off when the names do not fit, whatever they are
def load_checkpoint_fixed(model, state):
    if isinstance(model, nn.DataParallel):
        model = model.module
    names = model.state_dict().keys()
    if state.keys() != names:
        for k in list(state):
            state[k[7:]] = state.pop(k)
    model.load_state_dict(state)
