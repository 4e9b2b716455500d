def load_checkpoint_fixed(model, state):
    model = getattr(model, "module", model) if isinstance(model, nn.DataParallel) else model
    state = dict(state)
    if not all(key in state for key in model.state_dict()):
        torch.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    model.load_state_dict(state, strict=True)
