# finding: counted_twice
# two all-reduces at the same time count twice
def comm_share(events):
    def covered(spans):
        total, reached = 0.0, float("-inf")
        for begin, end in sorted(spans):
            total += max(0.0, end - max(begin, reached))
            reached = max(reached, end)
        return total

    talk = [(b, e) for k, b, e in events if k == "all_reduce"]
    work = [(b, e) for k, b, e in events if k == "compute"]
    step = max(e for _, _, e in events) - min(b for _, b, _ in events)
    share = covered(talk) / step
    return sum(e - b for b, e in talk) / step, (covered(talk + work) - covered(work)) / step
