def largest_batch(step):
    found = 0
    jump = 1
    while True:
        try:
            step(found + jump)
        except torch.cuda.OutOfMemoryError:
            break
        found += jump
        jump = found
    while jump > 1:
        jump //= 2
        try:
            step(found + jump)
        except torch.OutOfMemoryError:
            continue
        found += jump
    return found
