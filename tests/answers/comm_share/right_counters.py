# one walk through all begins and ends, with two counters
def comm_share(events):
    changes = []
    for kind, begin, end in events:
        changes += [(begin, kind, 1), (end, kind, -1)]
    changes.sort()
    running, talk, exposed = {"compute": 0, "all_reduce": 0}, 0.0, 0.0
    before = first = changes[0][0]
    for now, kind, change in changes:
        if running["all_reduce"]:
            talk += now - before
            if not running["compute"]:
                exposed += now - before
        running[kind] += change
        before = now
    return talk / (before - first), exposed / (before - first)
