# finding: refused
# as it was, and strict: refuses what it should load
def load_checkpoint_fixed(model, state):
    model.load_state_dict(state)
