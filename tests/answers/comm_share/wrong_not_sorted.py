# finding: too_little
# walks through the events as they come
def comm_share(events):
    def covered(spans):
        total, reached = 0.0, float("-inf")
        for begin, end in spans:
            total += end - max(begin, reached)
            reached = end
        return total

    talk = [(b, e) for k, b, e in events if k == "all_reduce"]
    work = [(b, e) for k, b, e in events if k == "compute"]
    step = max(e for _, _, e in events) - min(b for _, b, _ in events)
    exposed = covered(sorted(talk + work)) - covered(sorted(work))
    return covered(talk) / step, exposed / step
