"""Why a run failed: the cause, told from its consequences.

The order of blame is: an exception of the user's code, then a rank that left or was killed,
then ranks that wait for each other, and last "connection closed" and time limits, which are
what the other ranks see of a cause elsewhere. The rank that complains is often innocent.

Codes: ``exception``, ``name``, ``stub``, ``not_plain``, ``port_in_use``, ``left_early``,
``signal``, ``abort``, ``sizes_differ``, ``dtypes_differ``, ``different_collectives``,
``no_such_rank``, ``send_send``, ``recv_recv``,
``missing_peer``, ``deadlock``, ``timeout``, ``connection``, ``infrastructure``.
"""

from __future__ import annotations

import linecache
import signal
from collections.abc import Sequence

from course.ranks import outcome
from course.ranks.calls import COLLECTIVES
from course.ranks.outcome import Call, Failure, Outcome, RaisedException, RankLine

# What torch and gloo say to a rank whose peer has gone. The cause is at the peer.
_CONSEQUENCES = (
    "connection closed",
    "connection reset",
    "broken pipe",
    "socket closed",
    "timed out waiting",
    "connection refused",
    "failed to recv, got 0 bytes",
    "connection was likely closed",
)


def explain(outcomes: Sequence[Outcome], timeout: float) -> Failure | None:
    """The failure of a run, or None when every rank returned."""
    if all(o.ok for o in outcomes):
        return None
    for look in (_not_started, _exception, _native_mismatch, _left, _stuck, _too_slow, _rest):
        failure = look(outcomes, timeout)
        if failure is not None:
            return failure
    raise AssertionError("a run that failed always has an explanation")


def signal_meaning(number: int) -> str:
    """What it usually means that a process was ended by this signal."""
    meanings = {
        signal.SIGKILL: "killed by SIGKILL (signal 9): the kernel does that when memory runs out",
        signal.SIGSEGV: "ended by SIGSEGV (signal 11): native code touched memory not its own",
        signal.SIGABRT: "ended by SIGABRT (signal 6): native code gave up (abort)",
        signal.SIGTERM: "ended by SIGTERM (signal 15): something asked it to end",
        signal.SIGINT: "ended by SIGINT (signal 2): it was interrupted",
        signal.SIGBUS: "ended by SIGBUS (signal 7): shared memory ran out, or a file shrank",
    }
    try:
        known = signal.Signals(number)
    except ValueError:
        return f"ended by signal {number}"
    return meanings.get(known, f"ended by {known.name} (signal {number})")


def ranks_text(ranks: Sequence[int]) -> str:
    """``rank 1``, ``ranks 0 and 2``, ``ranks 0, 1 and 3``."""
    names = [str(rank) for rank in sorted(ranks)]
    if len(names) == 1:
        return f"rank {names[0]}"
    return f"ranks {', '.join(names[:-1])} and {names[-1]}"


# each returns a failure, or None to pass the question on


def _not_started(outcomes: Sequence[Outcome], timeout: float) -> Failure | None:
    broken = [o for o in outcomes if o.began is None and o.state != outcome.RETURNED]
    if not broken or any(o.began is not None for o in outcomes):
        return None
    said = next((str(o.exception) for o in broken if o.exception), broken[0].state)
    return Failure(
        "infrastructure",
        f"The ranks could not be started: {said}.",
        tuple(o.rank for o in broken),
        advice="This is not the fault of your code. Try once more; then look at free memory.",
    )


def _exception(outcomes: Sequence[Outcome], timeout: float) -> Failure | None:
    raised = [o for o in outcomes if o.exception and o.state == outcome.RAISED]
    causes = [o for o in raised if not _is_consequence(o)]
    if not causes:
        return None
    first = min(causes, key=lambda o: o.ended)
    error = first.exception
    assert error is not None
    same = [o.rank for o in causes if o.exception and str(o.exception) == str(error)]
    line = error.frames[-1] if error.frames else None
    where = f" at line {error.line}" if error.line else ""
    note = _in_short(error, 160)
    places = (RankLine(first.rank, line.line, note, line.text, line.file),) if line else ()
    return Failure(
        _exception_code(error.type, error.message),
        f"{_who(same, outcomes)} raised {_in_short(error, 320)}{'' if line is None else where}.",
        tuple(same),
        places,
        _exception_advice(error.type, error.message),
        error.traceback,
    )


def _who(ranks: Sequence[int], outcomes: Sequence[Outcome]) -> str:
    """Who is alone need not be numbered."""
    return ranks_text(ranks).capitalize() if len(outcomes) > 1 else "The code"


def _in_short(error: RaisedException, limit: int) -> str:
    """The exception in one line; its whole text is in the traceback."""
    text = " ".join(str(error).split()).rstrip(".")
    return text if len(text) <= limit else text[:limit].rsplit(" ", 1)[0] + " …"


def _exception_code(kind: str, message: str) -> str:
    if kind == "NameError":
        return "name"
    if kind == "NotImplementedError" and not message.startswith(("aten::", "Could not run")):
        return "stub"
    if kind in ("NotPlain", "TooLarge"):
        return "not_plain"
    if "EADDRINUSE" in message or "address already in use" in message.lower():
        return "port_in_use"
    return "exception"


def _exception_advice(kind: str, message: str) -> str:
    if _exception_code(kind, message) == "port_in_use":
        return "Use the MASTER_PORT of the environment: it was free a moment ago."
    if kind == "NameError":
        return (
            "Each rank runs this code in a fresh process. Define or import the name in the same "
            "cell; what other cells of the notebook define is not there."
        )
    if "NCCL" in message and ("only supported with GPUs" in message or "built in" in message):
        return "NCCL needs a GPU for each rank; on a CPU the backend is gloo."
    if kind == "EOFError":
        return "A rank has no keyboard: input() finds the end of its input at once."
    return next((advice for sign, advice in _SIGNS if all(part in message for part in sign)), "")


# What is known of an exception by parts of its message. Each must be true wherever they occur.
_SIGNS = (
    (
        ("'NoneType' object has no attribute 'wait'",),
        "What should be a handle is None. A collective without async_op=True is over when it comes "
        "back, and returns None.",
    ),
    (
        ("'NoneType' object has no attribute",),
        "What stands before the dot is None. If that is a parameter's .grad: on this rank, "
        "backward has made no gradient for it (yet).",
    ),
    (
        ("Expected parameter", "torch.Tensor", "NoneType"),
        "A collective was given None where it needs a tensor. If that is a parameter's .grad: on "
        "this rank, backward has made no gradient for it (yet). A hook of register_hook runs too "
        "early, and is handed the gradient itself; one of register_post_accumulate_grad_hook runs "
        "when param.grad is there, and is handed the parameter.",
    ),
    (
        ("iter() returned non-iterator",),
        "__iter__ must return an iterator, as iter(a_list) is; a list is none itself.",
    ),
    (
        ("optimizer got an empty parameter list",),
        "torch's optimizers need at least one parameter: a rank that has none needs no optimizer.",
    ),
)


def _is_consequence(o: Outcome) -> bool:
    text = (o.exception.message if o.exception else "").lower()
    return any(sign in text for sign in _CONSEQUENCES)


def _native_mismatch(outcomes: Sequence[Outcome], timeout: float) -> Failure | None:
    """Sizes or types that differ between ranks end some with an abort or a lost connection."""
    if not any(o.state in (outcome.SIGNALLED, outcome.RAISED) for o in outcomes):
        return None
    return first_mismatch(outcomes)


def first_mismatch(outcomes: Sequence[Outcome]) -> Failure | None:
    """The first collective, or transfer between two ranks, that its sides see differently.

    Collectives are compared in order: the k-th of each rank must be the same operation on the
    same number of elements of the same dtype. Transfers are compared pair by pair.
    """
    return _collective_mismatch(outcomes) or _transfer_mismatch(outcomes)


# Operations whose tensor is alike on all ranks; a scatter's or gather's is not recorded alike.
_SAME_EVERYWHERE = ("all_reduce", "broadcast", "reduce", "all_gather", "barrier")


def _collective_mismatch(outcomes: Sequence[Outcome]) -> Failure | None:
    size = len(outcomes)
    logs = [[c for c in o.calls if c.op in COLLECTIVES and c.group_size == size] for o in outcomes]
    for calls in zip(*logs, strict=False):
        if len({c.op for c in calls}) > 1:
            return _differing("different_collectives", outcomes, calls, lambda c: c.op)
        if calls[0].op not in _SAME_EVERYWHERE:
            continue
        if len({_count(c) for c in calls}) > 1:
            return _differing("sizes_differ", outcomes, calls, _shape_text)
        if len({c.dtype for c in calls}) > 1:
            return _differing("dtypes_differ", outcomes, calls, lambda c: str(c.dtype))
    return None


def _differing(code, outcomes, calls, text) -> Failure:  # type: ignore[no-untyped-def]
    what = {
        "different_collectives": "The ranks entered different collectives",
        "sizes_differ": f"The ranks gave {calls[0].op} tensors of different sizes",
        "dtypes_differ": f"The ranks gave {calls[0].op} tensors of different dtypes",
    }[code]
    each = "; ".join(f"rank {o.rank}: {text(c)}" for o, c in zip(outcomes, calls, strict=True))
    advice = {
        "different_collectives": "Every rank must call the same collectives in the same order.",
        "sizes_differ": "Are these the same call of every rank? If a rank left out one before, or "
        "made its calls in another order, the calls are what must be made alike. Else make the "
        "sizes equal.",
        "dtypes_differ": "Cast to one dtype before the collective; nothing checks it for you.",
    }[code]
    return Failure(
        code,
        f"{what}: {each}.",
        tuple(o.rank for o in outcomes),
        tuple(_line(o, c, text(c)) for o, c in zip(outcomes, calls, strict=True)),
        advice,
    )


def _transfer_mismatch(outcomes: Sequence[Outcome]) -> Failure | None:
    for sender in outcomes:
        for receiver in outcomes:
            sent = [c for c in sender.calls if c.op in ("send", "isend")]
            received = [c for c in receiver.calls if c.op in ("recv", "irecv")]
            pairs = zip(
                [c for c in sent if c.peer == receiver.rank],
                [c for c in received if c.peer == sender.rank],
                strict=False,
            )
            for out, into in pairs:
                if out.bytes != into.bytes:
                    return _unequal_transfer(sender, receiver, out, into)
    return None


def _unequal_transfer(sender: Outcome, receiver: Outcome, out: Call, into: Call) -> Failure:
    return Failure(
        "sizes_differ",
        f"Rank {sender.rank} sent {_shape_text(out)} to rank {receiver.rank}, which had made "
        f"room for {_shape_text(into)}.",
        (sender.rank, receiver.rank),
        (_line(sender, out, f"sends {out.bytes} bytes"),
         _line(receiver, into, f"receives {into.bytes} bytes")),
        "Both sides must agree on shape and dtype before the transfer. Where tensors differ in "
        "size, as a ring's chunks may: do both sides mean the same one?",
    )  # fmt: skip


def _left(outcomes: Sequence[Outcome], timeout: float) -> Failure | None:
    gone = [o for o in outcomes if o.state in (outcome.EXITED, outcome.SIGNALLED)]
    if not gone:
        return None
    signalled = [o for o in gone if o.state == outcome.SIGNALLED]
    first = min(signalled or gone, key=lambda o: o.ended)
    if first.state == outcome.SIGNALLED:
        return _signalled(first, outcomes)
    frame = first.exception.frames[-1] if first.exception and first.exception.frames else None
    how = f"sys.exit({first.exit_code})" if first.exception else f"exit code {first.exit_code}"
    where = f" at line {frame.line}" if frame else ""
    waiting = [o for o in outcomes if o.rank != first.rank and o.blocked_in]
    consequence = f" Now {_waits(waiting[0])}, and nobody answers." if waiting else ""
    places = [RankLine(first.rank, frame.line, f"left by {how}", frame.text, frame.file)] if (
        frame) else []  # fmt: skip
    return Failure(
        "left_early",
        f"Rank {first.rank} left with {how}{where} instead of returning.{consequence}",
        (first.rank,),
        (*places, *(_blocked_line(o) for o in waiting)),
        "A rank must stay until it has taken part in everything that the others wait for.",
    )


def _signalled(first: Outcome, outcomes: Sequence[Outcome]) -> Failure:
    number = -(first.exit_code or 0)
    frame = first.stack[-1] if first.stack else None
    last_words = first.stderr.strip()[-2000:]
    call = first.blocked_in
    inside = f" in {call} at line {call.line}" if call else ""
    line = [RankLine(first.rank, frame.line, "was here", frame.text, frame.file)] if frame else []
    return Failure(
        "abort" if number == signal.SIGABRT else "signal",
        f"Rank {first.rank} was {signal_meaning(number)}{inside}.",
        (first.rank,),
        tuple(line),
        traceback=last_words,
    )


def _stuck(outcomes: Sequence[Outcome], timeout: float) -> Failure | None:
    stuck = [o for o in outcomes if o.state == outcome.STUCK and o.blocked_in]
    if not stuck:
        return None
    lines = tuple(_blocked_line(o) for o in stuck)
    lost = [o for o in stuck if _peer_is_nobody(o, len(outcomes))]
    if lost:
        return _no_such_rank(lost, len(outcomes))
    code, why, advice = _kind_of_deadlock(outcomes, stuck)
    return Failure(code, why, tuple(o.rank for o in stuck), lines, advice)


def _peer_is_nobody(o: Outcome, size: int) -> bool:
    peer = o.blocked_in.peer if o.blocked_in else None
    return peer is not None and not 0 <= peer < size


def _no_such_rank(lost: Sequence[Outcome], size: int) -> Failure:
    """gloo waits for a rank that does not exist as for any other."""
    first = lost[0].blocked_in
    assert first is not None
    return Failure(
        "no_such_rank",
        f"Rank {lost[0].rank} {first.doing}, and there is no rank {first.peer}: "
        f"{size} ranks are numbered from 0 to {size - 1}.",
        tuple(o.rank for o in lost),
        tuple(_blocked_line(o) for o in lost),
        "In a ring, the neighbours are (rank + 1) % n and (rank - 1) % n; elsewhere, a rank at "
        "the edge has none.",
    )


def _kind_of_deadlock(
    outcomes: Sequence[Outcome], stuck: Sequence[Outcome]
) -> tuple[str, str, str]:
    returned = {o.rank for o in outcomes if o.ok}
    calls = [o.blocked_in for o in stuck]
    names = [(c.waits_for or c.op) for c in calls if c]
    peers = {c.peer for c in calls if c and ("send" in c.op or "recv" in c.op or c.waits_for)}
    if returned & peers or (returned and any(n in COLLECTIVES for n in names)):
        gone = ranks_text(sorted(returned & peers or returned))
        verb = "has" if len(returned & peers or returned) == 1 else "have"
        return (
            "missing_peer",
            f"Deadlock: {gone} {verb} already returned, and "
            f"{ranks_text([o.rank for o in stuck])} still wait{'s' * (len(stuck) == 1)}.",
            "Every rank must enter every collective, also one that has nothing to give: look for a "
            "return before this line that not every rank takes, or an if around it."
            if all(n in COLLECTIVES for n in names)
            else "Every send needs its receive, and every rank must enter every collective.",
        )
    if all("send" in name for name in names):
        return (
            "send_send",
            "Deadlock: every waiting rank is in a send, and nobody receives.",
            "A send may wait until its receive is there. Let some ranks receive first, "
            "or start the send with isend and wait for it after the receive.",
        )
    if all("recv" in name for name in names):
        return (
            "recv_recv",
            "Deadlock: every waiting rank is in a receive, and nobody sends.",
            "Somebody has to send first.",
        )
    if set(names) == {"broadcast"} and len({c.peer for c in calls if c}) > 1:
        each = "; ".join(f"rank {o.rank} {c.doing}" for o in stuck if (c := o.blocked_in))
        return (
            "different_collectives",
            f"Deadlock: the ranks wait in different broadcasts: {each}.",
            "Every rank must call every broadcast, the source as well as those that receive, with "
            "the same source and in the same order.",
        )
    collectives = {name for name in names if name in COLLECTIVES}
    if len(collectives) > 1 or (collectives and len(collectives) < len(set(names))):
        return (
            "different_collectives",
            "Deadlock: the ranks wait in different operations.",
            "Every rank must reach the same collectives in the same order: look for one under "
            "an if, or behind a return that not every rank takes.",
        )
    return (
        "deadlock",
        "Deadlock: each of these ranks waits for something that does not come.",
        "Follow one message: who sends it, who receives it, and in which order.",
    )


def _too_slow(outcomes: Sequence[Outcome], timeout: float) -> Failure | None:
    late = [o for o in outcomes if o.state == outcome.TIMEOUT]
    if not late:
        return None
    computing = [o for o in late if not o.blocked_in] or late
    lines = tuple(_late_line(o) for o in late)
    first = computing[0]
    line = first.stack[-1].line if first.stack else None
    where = f" at line {line}" if line else ""
    doing = "waited" if first.blocked_in else "was still busy"
    back = [o.rank for o in outcomes if o.ok]
    returned = f" {ranks_text(back).capitalize()} had returned." if back else ""
    advice = (
        "Look for a loop that does not end, or a rank that sleeps or computes while the others "
    )
    advice += "wait for it."
    if back:
        advice = (
            f"Does {ranks_text([o.rank for o in computing])} wait there for "
            f"{ranks_text(back)}? What ranks do together, also DDP's own all-reduces in forward "
            "and backward, never ends without one of them. Else look for a loop that does not end."
        )
    return Failure(
        "timeout",
        f"{ranks_text([o.rank for o in late]).capitalize()} had not returned after "
        f"{timeout:g} s; rank {first.rank} {doing}{where}.{returned}",
        tuple(o.rank for o in computing),
        lines,
        advice,
    )


def _rest(outcomes: Sequence[Outcome], timeout: float) -> Failure | None:
    """Only consequences are left to see."""
    failed = [o for o in outcomes if not o.ok]
    mismatch = first_mismatch(outcomes)
    if mismatch:
        return mismatch
    raised = next((o for o in failed if o.exception), failed[0])
    said = str(raised.exception) if raised.exception else raised.state
    return Failure(
        "connection",
        f"Rank {raised.rank} lost its connection to the others: {said}.",
        tuple(o.rank for o in failed),
        tuple(_blocked_line(o) for o in failed if o.blocked_in),
        "A rank that ended, or aborted a transfer, takes the connection with it.",
        raised.exception.traceback if raised.exception else "",
    )


def _waits(o: Outcome) -> str:
    call = o.blocked_in
    assert call is not None
    line = f" at line {call.line}" if call.line else ""
    return f"rank {o.rank} {call.doing}{line}"


def _blocked_line(o: Outcome) -> RankLine:
    call = o.blocked_in
    assert call is not None
    return _line(o, call, call.doing)


def _late_line(o: Outcome) -> RankLine:
    if o.blocked_in:
        return _blocked_line(o)
    if not o.stack:
        return RankLine(o.rank, None, "was still busy")
    frame = o.stack[-1]
    return RankLine(o.rank, frame.line, "was still busy here", frame.text, frame.file)


def _line(o: Outcome, call: Call, note: str) -> RankLine:
    text = linecache.getline(call.file, call.line or 0).strip()
    return RankLine(o.rank, call.line, note, text, call.file)


def _count(call: Call) -> int:
    elements = 1
    for size in call.shape or ():
        elements *= size
    return elements if call.shape is not None else 0


def _shape_text(call: Call) -> str:
    return f"{call.dtype}[{', '.join(str(size) for size in call.shape or ())}]"
