# finding: old_head
# wraps, and forgets the head
def replace_head_fixed(model, outputs):
    return DDP(model)
