# finding: nothing_loaded
# strict=False: nothing is loaded, and nothing complains (C61)
def load_checkpoint_fixed(model, state):
    model.load_state_dict(state, strict=False)
