def load_checkpoint_fixed(model, state):
    own = set(model.state_dict())
    cut = {k[len("module.") :] if k.startswith("module.") else k: v for k, v in state.items()}
    added = {"module." + k: v for k, v in state.items()}
    for form in (state, cut, added):
        if set(form) == own:
            model.load_state_dict(form)
            return
    raise KeyError(f"missing or unexpected: {sorted(set(state) ^ own)}")
