# merges intervals; what is hidden is the length of all intersections
def comm_share(events: list[tuple[str, float, float]]) -> tuple[float, float]:
    def merged(kind):
        result = []
        for begin, end in sorted((b, e) for k, b, e in events if k == kind):
            if result and begin <= result[-1][1]:
                result[-1][1] = max(result[-1][1], end)
            else:
                result.append([begin, end])
        return result

    step = max(e for _, _, e in events) - min(b for _, b, _ in events)
    talk, work = merged("all_reduce"), merged("compute")
    covered = sum(e - b for b, e in talk)
    hidden = sum(max(0, min(e1, e2) - max(b1, b2)) for b1, e1 in talk for b2, e2 in work)
    return covered / step, (covered - hidden) / step
