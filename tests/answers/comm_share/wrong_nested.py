# finding: too_little
# sorted, but the last end replaces a later one: what lies within another ends it
def comm_share(events):
    def covered(spans):
        merged = []
        for begin, end in sorted(spans):
            if merged and begin <= merged[-1][1]:
                merged[-1][1] = end
            else:
                merged.append([begin, end])
        return sum(end - begin for begin, end in merged)

    talk = [(b, e) for k, b, e in events if k == "all_reduce"]
    work = [(b, e) for k, b, e in events if k == "compute"]
    step = max(e for _, _, e in events) - min(b for _, b, _ in events)
    return covered(talk) / step, (covered(talk + work) - covered(work)) / step
