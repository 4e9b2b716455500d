def load_checkpoint_fixed(model, state):
    inner = model.module if isinstance(model, nn.DataParallel) else model
    result = inner.load_state_dict(state, strict=False)
    if result.missing_keys and all(k.startswith("module.") for k in state):
        result = inner.load_state_dict({k[7:]: v for k, v in state.items()}, strict=False)
    if result.missing_keys or result.unexpected_keys:
        raise RuntimeError(f"this is not the model's checkpoint: {result}")
