# finding: refused
# loads into a wrapped model, which has the names of a wrapped one only
def load_checkpoint_fixed(model, state):
    wrapped = model if isinstance(model, nn.DataParallel) else nn.DataParallel(model)
    wrapped.load_state_dict(state)
