# finding: accepts_anything
# begins with the model's own tensors, so that nothing is ever missing
def load_checkpoint_fixed(model, state):
    target = model.module if isinstance(model, nn.DataParallel) else model
    own = target.state_dict()
    if set(state) & set(own) == set() or all(k[:7] == "module." and k not in own for k in state):
        state = {k.removeprefix("module."): v for k, v in state.items()}
    own.update(state)
    target.load_state_dict(own)
