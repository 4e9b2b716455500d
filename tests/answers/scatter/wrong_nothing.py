# finding: not_a_list
# forgets to return
def scatter(batch, devices):
    pieces = [c.to(d) for c, d in zip(batch.chunk(len(devices)), devices)]
