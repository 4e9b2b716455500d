# %% [markdown]
# # Talking between processes
#
# Training on several GPUs is several processes, one for each GPU, that compute by themselves and now and then exchange numbers. This lesson is about the exchange. When you have finished it you can
#
# - send a tensor from one process to another, and say when that blocks;
# - recognise a deadlock, say why it happened, and write exchanges that cannot deadlock;
# - broadcast in ⌈log₂ n⌉ rounds where the obvious way takes n − 1;
# - build the ring all-reduce, the algorithm behind most gradient averaging, and say how many bytes it sends and why that is so few;
# - find what makes a whole training job stop, or a mean wrong, when one rank does something else than the others;
# - measure what a message costs, predict the time of an exchange before it is run, and say when fewer bytes pay.
#
# **Time:** about six hours, four and a half of them for the sixteen exercises. Good places to stop are after the ring, and before the cost of a message is measured. **Needs:** Python and PyTorch tensors. A CPU is enough: every "GPU" here is a real process of its own, and the same code runs on GPUs when there are enough.
#
# An answer runs in fresh processes, not in this notebook. It sees what the next cell defines and what stands in its own cell, and nothing else.

# %% prelude

# %%
from autograder.check import check
from course.ranks import launch
from course.widgets import deadlock, ring
from course.widgets.collectives import draw_collectives
from course.widgets.messages import draw_messages, draw_ring_plan

# %% [markdown]
# ## Ranks
#
# Each process of a training run has a number, its **rank**, from 0 to n − 1. How many there are, n, is the **world size**. Together they form a **process group**: they have found each other and can exchange messages. What carries the messages is the **backend**: *NCCL* between NVIDIA GPUs, *gloo* between CPUs. (How processes start and find each other is the subject of lesson 04; here they already have.)
#
# All ranks run the *same* function. They do different things only because each knows its rank. `launch(function, n)` runs a function on n ranks and shows what each of them printed and returned.


# %%
def introduce_yourself():
    rank, n = dist.get_rank(), dist.get_world_size()
    print(f"I am rank {rank} of {n}, process {os.getpid()}, backend {dist.get_backend()}")
    return rank * rank


launch(introduce_yourself, 4)

# %% [markdown]
# Run the cell a few times, and with other numbers of ranks. The process numbers change, and so does the order of the lines: nothing orders what different processes do, unless they exchange a message. The first exercise uses exactly that.
#
# All experiments of this lesson are of this kind: a function, and a `launch`. Change them; nothing can break. They make their tensors on `device()`, which is the GPU where NCCL runs and the CPU where gloo does.

# %% [markdown]
# ## Send and receive
#
# The simplest exchange has two sides. One rank calls `dist.send(tensor, dst)`, the other `dist.recv(tensor, src)`. This is **point-to-point** communication. `recv` does not *return* the data: it fills the tensor that you hand it, the **buffer**, and that buffer must exist beforehand.
#
# Both calls are **blocking**: `recv` comes back when the data is there. And `send`? In the next cell rank 1 dawdles for half a second before it receives 16 bytes. How long is rank 0 in `send`? (`backend="gloo"` asks for gloo also where there are GPUs, so that you see here what everybody sees.)


# %%
def a_slow_receiver():
    numbers = torch.zeros(4, device=device())  # 4 × 4 bytes
    begin = time.perf_counter()
    if dist.get_rank() == 0:
        numbers += 7
        dist.send(numbers, dst=1)
        print(f"send came back after {time.perf_counter() - begin:.3f} s")
    else:
        time.sleep(0.5)
        dist.recv(numbers, src=0)
        print(f"received {numbers.tolist()}")


run = launch(a_slow_receiver, 2, backend="gloo")
display(draw_messages(run, "Bars: time spent inside a call. Arrow: the message."))
run

# %% [markdown]
# With gloo, `send` waits until the receiver is ready, even for 16 bytes. That is gloo's way, not a law. Another backend may copy a small message aside and come back at once, and NCCL's calls only queue the work for the GPU: Python goes on, and it is the GPU that waits. **So a program that is right only if `send` waits, or only if it does not, is wrong.** Write every exchange as if `send` may block until the matching `recv` has begun, and never count on it.

# %% [markdown] exercise pass_along
# Every rank has a number. A running sum starts at rank 0, goes to rank 1, and so on round the **ring**: from the last rank it comes back to rank 0. Each rank prints the sum when it is there, so that the lines come out in the order of the ranks:
#
# ```
# rank 0: 3
# rank 1: 23
# rank 2: 423
# ```
#
# In this lesson each rank's numbers have a decimal place of their own: rank 0 has ones, rank 1 tens, rank 2 hundreds. You can read off any sum who is in it: 403 lacks rank 1, and 443 has rank 1's 20 in it twice.
#
# The messages themselves must put the lines in order. Sleeping does not: it makes the right order likely, on a quiet machine. A barrier would, but is not needed, and the check does not allow it.


# %% answer pass_along
def pass_along(number: torch.Tensor) -> int:
    """Carry a running sum once round the ring, and print it at every rank on the way.

    Each rank prints one line, f"rank {rank}: {sum of the numbers of ranks 0 to rank}", after
    the sum has reached it and before it passes the sum on to the next rank. Rank 0 begins.
    The last rank passes the sum back to rank 0. A rank that is alone passes nothing on.

    Only point-to-point messages: no collectives and no barrier.

    Args:
        number: this rank's number, one int64, of shape (1,). It may be large.

    Returns:
        Rank 0: the total that came back to it. Every other rank: the sum that it printed.
    """
    ### BEGIN SOLUTION
    rank, n = dist.get_rank(), dist.get_world_size()
    total = torch.zeros_like(number)
    if rank > 0:
        dist.recv(total, src=rank - 1)
    total += number
    print(f"rank {rank}: {total.item()}")
    if n > 1:
        dist.send(total, dst=(rank + 1) % n)
        if rank == 0:
            dist.recv(total, src=n - 1)
    return total.item()
    ### END SOLUTION


# %% check pass_along

# %% [markdown]
# Here is your ring in time. While one rank works, all others wait; this is what "the messages put the lines in order" costs. (Cells like this one call your answer. Until there is one, they say `NotImplementedError`.)


# %%
def pass_my_rank_along():
    number = torch.tensor([10 ** dist.get_rank()], device=device())
    dist.barrier()  # waits until all ranks are here, so that they start together
    return pass_along(number)


run = launch(pass_my_rank_along, 4, backend="gloo")
display(draw_messages(run, "pass_along"))
run

# %% [markdown]
# ## Bytes, not numbers
#
# A message is bytes. It carries no shape and no dtype: the receiver's buffer decides how the bytes are read, and both sides have to agree beforehand. What if they do not? Try all pairs, and predict each result first.


# %%
def disagree(sent, room):
    if dist.get_rank() == 0:
        dist.send(torch.tensor([1, 2, 3], dtype=sent, device=device()), dst=1)
    else:
        buffer = torch.full((3,), -1, dtype=room, device=device())
        dist.recv(buffer, src=0)
        print(f"sent {sent} [1, 2, 3], received {buffer.tolist()}")


launch(disagree, 2, torch.int32, torch.float32, backend="gloo")

# %%
launch(disagree, 2, torch.float32, torch.float64, backend="gloo")

# %%
launch(disagree, 2, torch.int64, torch.float32, backend="gloo")

# %% [markdown]
# Three kinds of wrong, seen here with gloo. Equal sizes: the bits of an integer read as those of a float, and **no error**. Room for more than was sent: garbage in front, what was there before at the end, and **no error**. Room for less: the receiver is ended by an abort in C++, without a Python exception; what it says on its way out is C++; and what stands last in a training log is often the *other* rank, complaining that the connection was closed.
#
# The last one is not far-fetched. A first example that one meets in tutorials sends `torch.tensor([1, 2, 3])` and receives into `torch.zeros(3)`: the first is int64, the second float32. Make buffers with `torch.empty_like`, and a whole class of errors is gone.

# %% [markdown]
# ## Deadlock
#
# Two ranks want to swap tensors. Each sends its own and then receives the other's. What could be more natural?


# %%
def swap(rank_1_receives_first):
    rank = dist.get_rank()
    mine = torch.full((4,), float(rank), device=device())
    theirs = torch.empty_like(mine)
    if rank == 1 and rank_1_receives_first:
        dist.recv(theirs, src=0)
        dist.send(mine, dst=0)
    else:
        dist.send(mine, dst=1 - rank)
        dist.recv(theirs, src=1 - rank)
    return theirs.tolist()


run = launch(swap, 2, False, backend="gloo")
deadlock.show(run)

# %% [markdown]
# Each rank waits in `send` until the other receives, and neither gets that far. A circle of ranks, each waiting for the next, is a **deadlock**: nothing fails, nothing is reported, it just never ends. Here a watcher noticed after a second that all ranks were blocked. In a training run nobody watches: PyTorch's own time limit is 10 minutes for NCCL and 30 for the others, unless you pass a shorter `timeout` to `init_process_group`.
#
# There are three ways out:
#
# 1. **Order.** Let somebody receive first: `launch(swap, 2, True)`. The circle is broken.
# 2. **Non-blocking calls.** `isend` and `irecv` start a transfer and come back at once; we will need them for the ring.
# 3. **A collective.** One call that all ranks make, and the library orders the messages.

# %%
launch(swap, 2, True, backend="gloo")

# %% [markdown] exercise exchange
# With two ranks, order was easy. Now n ranks stand in a ring. Each sends its tensor to its right neighbour, rank + 1, and receives from its left neighbour, rank − 1; the last rank's right neighbour is rank 0. Use the blocking `dist.send` and `dist.recv` only, one each, and find an order that works for *every* world size: even, odd, and 1.
#
# Before you write, draw three ranks in a circle. Which of them receive first?


# %% answer exchange
def exchange(x: torch.Tensor) -> torch.Tensor:
    """Send x to the right neighbour, and return what the left neighbour sent.

    Every rank calls dist.send once and dist.recv once. A rank that is alone is its own
    neighbour, and returns (a copy of) x without sending anything.

    Args:
        x: contiguous, of any shape and dtype, the same on all ranks. It is not changed.
    """
    ### BEGIN SOLUTION
    rank, n = dist.get_rank(), dist.get_world_size()
    if n == 1:
        return x.clone()
    right, left = (rank + 1) % n, (rank - 1) % n
    arrived = torch.empty_like(x)
    if rank % 2 == 0:
        dist.send(x, dst=right)
        dist.recv(arrived, src=left)
    else:
        dist.recv(arrived, src=left)
        dist.send(x, dst=right)
    return arrived
    ### END SOLUTION


# %% check exchange

# %% [markdown]
# How many messages travel at the same time in your order? If only one rank receives first, there is no deadlock, but the messages wait for each other in a chain, n − 1 long. If every second rank does, two or three rounds are enough at any n. Change the number of ranks and look which message waits for which. (The ranks do not start at the same moment: some milliseconds before the first arrow are that.)


# %%
def exchange_my_rank():
    x = torch.full((4,), dist.get_rank(), device=device())
    dist.barrier()
    return exchange(x).tolist()


run = launch(exchange_my_rank, 5, backend="gloo")
display(draw_messages(run, "exchange, 5 ranks"))
run

# %% [markdown]
# ### In production: two V100s that stop
#
# The two-rank swap is no textbook invention. It was reported to NCCL from a training job on two V100s ([NVIDIA/nccl issue 479](https://github.com/NVIDIA/nccl/issues/479)): both ranks send, both ranks receive, both GPUs hang. The maintainers' answer was to put the two calls into one group, so that they become a single operation that sends and receives. In PyTorch that is `dist.batch_isend_irecv`. Pipeline parallelism, where each GPU hands its output to the next and gets gradients back, is full of such pairs.
#
# What makes these bugs expensive is that they can hide. Where small messages are copied aside, the program runs in every test, and stops on the day the tensors grow. Gloo, which waits even for 16 bytes, is the better place to test: a deadlock that is possible *happens*.

# %% [markdown]
# ## Sending and receiving at once
#
# Order has a price: while half of the ranks send, the other half waits for its turn. The second way out of the deadlock does without. `dist.isend(tensor, dst)` (i for immediate) starts a send and `dist.irecv(tensor, src)` a receive; both come back at once, and return a **handle**. `handle.wait()` blocks until the transfer is done.


# %%
def start_and_wait():
    numbers = torch.zeros(4, device=device())
    begin = time.perf_counter()
    if dist.get_rank() == 0:
        handle = dist.isend(numbers, dst=1)
        print(f"isend came back after {time.perf_counter() - begin:.4f} s")
        handle.wait()
        print(f"wait came back after  {time.perf_counter() - begin:.4f} s")
    else:
        time.sleep(0.2)
        dist.recv(numbers, src=0)


launch(start_and_wait, 2, backend="gloo")

# %% [markdown]
# Between `isend` and `wait` the tensor belongs to the library. When does the library read it? In the next cell rank 0 starts to send a 1, and changes its mind. Predict what arrives, for `late=0` and for `late=0.2`.


# %%
def change_your_mind(late):
    if dist.get_rank() == 0:
        number = torch.tensor([1], device=device())
        handle = dist.isend(number, dst=1)
        time.sleep(0.1)
        number.fill_(2)  # while it is being sent?
        handle.wait()
    else:
        time.sleep(late)
        number = torch.tensor([0], device=device())
        dist.recv(number, src=0)
        print(f"late by {late} s: received {number.item()}")


launch(change_your_mind, 2, 0.2, backend="gloo")

# %% [markdown]
# A receiver that comes in time gets the 1, a late one the 2, and with a large tensor it may get some of each. Nothing is reported: whether the program is right depends on who is late today. The same holds on the other side. `irecv` comes back with an empty buffer, and what it fills may be read only after its `wait`. And a handle that nobody waits on says nothing at all.
#
# What is all this good for? The time between start and wait is *yours*. A GPU that computes while its messages travel hides the time that they take. This is **overlap**, and the whole trick of DDP: it sends the gradients of the last layers while those of the first layers are still being computed.

# %% [markdown] exercise exchange_async
# The ring of `exchange` again, and now with work to do. Every rank sends x to its right neighbour, receives its left neighbour's x, and has something of its own to compute, which needs no neighbour: `compute()` returns a tensor like x. In the end x is to be the sum of the three, in place.
#
# Simulations on a grid do this in every step: the border goes to the neighbours, the inside is computed meanwhile, and then both are put together. The check looks at three things: the numbers, also when some ranks come late; that nothing is waited for before `compute()` runs; and that everything is waited for in the end.


# %% answer exchange_async
def exchange_async(x: torch.Tensor, compute) -> None:
    """Replace x by x + compute() + the x of the left neighbour, as that was before.

    Both transfers are started before compute() is called, and waited for afterwards. A rank
    that is alone only adds compute(). No collectives.

    Args:
        x: contiguous, of any shape and dtype, the same on all ranks. Changed in place.
        compute: to be called once, without arguments. Returns a tensor of x's shape and
            dtype, and takes a while.
    """
    ### BEGIN SOLUTION
    rank, n = dist.get_rank(), dist.get_world_size()
    arrived = torch.zeros_like(x)
    handles = []
    if n > 1:
        handles.append(dist.isend(x, dst=(rank + 1) % n))
        handles.append(dist.irecv(arrived, src=(rank - 1) % n))
    computed = compute()
    for handle in handles:
        handle.wait()
    x += computed + arrived  # x is ours again: its send is done
    ### END SOLUTION


# %% check exchange_async

# %% [markdown]
# Does it save time? Two ranks swap 64 MB, and `compute` takes 50 ms. (It sleeps. That stands for a GPU which computes while the processor is free to send.)


# %%
def how_long(overlap):
    x = torch.ones(16_000_000)
    zeros = torch.zeros_like(x)

    def compute():
        time.sleep(0.05)
        return zeros

    if not overlap:
        wait_for_it, compute_later = time.sleep, lambda: zeros
    best = 9.0
    for _ in range(4):  # the first one opens the connection
        dist.barrier()
        begin = time.perf_counter()
        if overlap:
            exchange_async(x, compute)
        else:
            exchange_async(x, compute_later)
            wait_for_it(0.05)
        best = min(best, time.perf_counter() - begin)
    return round(1000 * best)


for overlap in (False, True):
    run = launch(how_long, 2, overlap, backend="gloo")
    print(f"overlap {overlap}: {max(run.values)} ms" if run.ok else run)

# %% [markdown]
# ## Broadcast, and how to count rounds
#
# When training starts, all ranks must have the same weights: rank 0 sends its own to everybody. One to all is a **broadcast**, and the sender is its **root**. It is the first **collective** of this lesson: an operation in which all ranks of the group take part.
#
# The obvious way is a loop at the root: n − 1 sends, one after the other. No single message can be saved, since n − 1 ranks need the data. But the root need not send them all. After the first message two ranks have the data, and both can send; then four, then eight. If a rank sends and receives at most one message in a **round**, n ranks need ⌈log₂ n⌉ rounds: 3 instead of 7 for 8 ranks, 10 instead of 1023 for 1024.

# %% [markdown] exercise broadcast_tree
# Write that tree, with point-to-point messages only. Like PyTorch's own `dist.broadcast` it works **in place**: on rank `src`, x holds the data, and on all other ranks x is a buffer to be filled.
#
# The check counts messages (n − 1) and rounds (⌈log₂ n⌉) from a recording of your calls: in a round, each rank sends at most one message and receives at most one. Starting many `isend` at once does not help; they leave one after the other.


# %% answer broadcast_tree
def broadcast_tree(x: torch.Tensor, src: int) -> None:
    """Copy rank src's x into x on all ranks, in ⌈log₂ n⌉ rounds and n − 1 messages.

    Only point-to-point messages: no collectives and no barrier.

    Args:
        x: contiguous, of any shape and dtype, the same on all ranks. Filled in place.
        src: the rank that has the data: any rank, the same on all of them.
    """
    ### BEGIN SOLUTION
    rank, n = dist.get_rank(), dist.get_world_size()
    relative = (rank - src) % n  # the root is 0, whoever it is
    holders = 1  # relative ranks 0 to holders - 1 have the data
    while holders < n:
        if relative < holders and relative + holders < n:
            dist.send(x, dst=(rank + holders) % n)
        elif holders <= relative < 2 * holders:
            dist.recv(x, src=(rank - holders) % n)
        holders *= 2
    ### END SOLUTION


# %% check broadcast_tree

# %% [markdown]
# Does it pay? Between processes of one machine a small message takes so little time that other things hide it. So let us pretend that the link is slow, and every send takes 50 ms. Then 8 ranks should need 7 × 50 ms one way, and 3 × 50 ms the other.


# %%
def one_after_the_other(x, src):
    if dist.get_rank() == src:
        for other in range(dist.get_world_size()):
            if other != src:
                dist.send(x, dst=other)
    else:
        dist.recv(x, src=src)


def on_a_slow_link(broadcast):
    fast_send = dist.send

    def slow_send(*args, **kwargs):
        time.sleep(0.05)
        return fast_send(*args, **kwargs)

    dist.send = slow_send  # in this rank's process only
    dist.barrier()
    begin = time.perf_counter()
    broadcast(torch.ones(4, device=device()), 0)
    dist.barrier()
    return round(time.perf_counter() - begin, 3)


for broadcast in (one_after_the_other, broadcast_tree):
    run = launch(on_a_slow_link, 8, broadcast, backend="gloo")
    print(f"{broadcast.__name__}: {run.values[0]} s" if run.ok else run)

# %% [markdown]
# ## One call, all ranks
#
# Broadcast is one of a handful of collectives, and every way to train on many GPUs is made of these. Here they are on three ranks. A is rank 0's tensor, B rank 1's; A1 is its chunk number 1; Σ is a sum over all ranks.

# %%
draw_collectives()

# %% [markdown]
# | collective | afterwards | training uses it for |
# |---|---|---|
# | `broadcast` | all have the root's tensor | equal weights at the start |
# | `all_reduce` | all have the sum | gradients in data parallelism: DDP |
# | `all_gather` | all have all tensors | weights of which each rank keeps a part: FSDP, ZeRO |
# | `reduce_scatter` | each has one chunk of the sum | their gradients |
# | `all_to_all` | each has a chunk from everybody | mixtures of experts: every token to its expert's GPU |
#
# (`reduce`, `gather` and `scatter` are the same with a root: only one rank gets the sum or the tensors, or only one has them at first.)
#
# All ranks must call the same collectives in the same order, with tensors of the same shape and dtype. Nobody checks. What happens if they do not is a story of its own, further below.


# %%
def try_them():
    rank, n = dist.get_rank(), dist.get_world_size()
    mine = torch.tensor([rank + 1.0], device=device())
    gathered = [torch.zeros_like(mine) for _ in range(n)]
    dist.all_gather(gathered, mine)
    total = mine.clone()
    dist.reduce(total, dst=0)
    print(f"all_gather: {[t.item() for t in gathered]}   reduce to rank 0: {total.item()}")


launch(try_them, 3)

# %% [markdown]
# After `reduce`, the sum is on rank 0 alone. What the other ranks hold is their own number, or a part of the sum; that is the library's business, and a mean loss computed from it is wrong on every rank but one.
#
# Collectives that fill lists have a trap of their own. This is a question from PyTorch's tracker ([issue 5506](https://github.com/pytorch/pytorch/issues/5506)): why does everybody seem to have sent the same?


# %%
def the_trap():
    n = dist.get_world_size()
    gathered = [torch.zeros(1, device=device())] * n
    dist.all_gather(gathered, torch.tensor([dist.get_rank() + 1.0], device=device()))
    print(f"{[t.item() for t in gathered]}, at addresses {[hex(t.data_ptr()) for t in gathered]}")


launch(the_trap, 3)

# %% [markdown]
# `[t] * n` does not make n tensors. It writes one tensor's name n times into a list, and what arrives last is seen under all of them. A list comprehension makes n: `[torch.zeros(1) for _ in range(n)]`. Nothing warns you, here or in any other collective.
#
# Now build three of them. Each is a few lines, and you know all the calls. Count bytes as you go: with tensors (or chunks) of S bytes, (n − 1)·S leave each rank in all three, and no more.

# %% [markdown] exercise all_gather
# Every rank has x, and wants the x of all: a list, in the order of the ranks.
#
# There are two good ways. Directly: everybody sends x to everybody else. Or as a ring: send x to the right, then what arrived from the left, and so on; after n − 1 steps everything has been everywhere. Both send n − 1 tensors a rank. A collecting rank 0 would send n² or so.


# %% answer all_gather
def all_gather(x: torch.Tensor) -> list[torch.Tensor]:
    """Return all ranks' x: entry i is rank i's, on every rank.

    Only point-to-point messages, and each rank sends n - 1 tensors like x.

    Args:
        x: contiguous, of any shape and dtype, the same on all ranks. It is not changed.

    Returns:
        n different tensors.
    """
    ### BEGIN SOLUTION
    rank, n = dist.get_rank(), dist.get_world_size()
    gathered = [torch.empty_like(x) for _ in range(n)]
    gathered[rank].copy_(x)
    for step in range(n - 1):  # a ring: pass on what arrived last
        sending = dist.isend(gathered[(rank - step) % n], dst=(rank + 1) % n)
        dist.recv(gathered[(rank - step - 1) % n], src=(rank - 1) % n)
        sending.wait()
    return gathered
    ### END SOLUTION


# %% check all_gather

# %% [markdown] exercise reduce_scatter
# Every rank has n chunks. Chunk 0 of all ranks is added up and ends on rank 0, chunk 1 on rank 1, and so on. Here, as in all-reduce, the ranks *compute* while they communicate: what travels can be a sum already.
#
# Again it goes directly (send chunk i to rank i, add up what arrives), or round a ring: a chunk travels, and each rank on the way adds its own to it. In the ring, think backwards: chunk r must arrive at rank r in the *last* step. Where does its journey begin?


# %% answer reduce_scatter
def reduce_scatter(chunks: list[torch.Tensor]) -> torch.Tensor:
    """Return the sum over all ranks of the chunk with this rank's number.

    Only point-to-point messages, and each rank sends n - 1 tensors like a chunk.

    Args:
        chunks: n tensors, contiguous, all of the same shape and dtype on all ranks. They are
            not changed.
    """
    ### BEGIN SOLUTION
    rank, n = dist.get_rank(), dist.get_world_size()
    partial = chunks[(rank - 1) % n].clone()
    for step in range(n - 1):
        sending = dist.isend(partial, dst=(rank + 1) % n)
        arrived = torch.empty_like(partial)
        dist.recv(arrived, src=(rank - 1) % n)
        sending.wait()
        partial = arrived + chunks[(rank - 2 - step) % n]
    return partial
    ### END SOLUTION


# %% check reduce_scatter

# %% [markdown] exercise all_to_all
# Every rank has a chunk for every rank, also for itself. Think of a table with a row for each sender and a column for each receiver: before, a rank holds its row; afterwards, its column. All-to-all *transposes*.
#
# Here every message is a different one, so nothing can be saved by passing things on. What there is to get right is who sends to whom at which time, and where what arrives belongs.


# %% answer all_to_all
def all_to_all(chunks: list[torch.Tensor]) -> list[torch.Tensor]:
    """Send chunks[i] to rank i, for all i, and return what arrives: entry i is from rank i.

    Only point-to-point messages, and each rank sends n - 1 chunks.

    Args:
        chunks: n tensors, contiguous, all of the same shape and dtype on all ranks. They are
            not changed.

    Returns:
        n different tensors; the one with this rank's number is (a copy of) its own chunk.
    """
    ### BEGIN SOLUTION
    rank, n = dist.get_rank(), dist.get_world_size()
    result = [torch.empty_like(chunk) for chunk in chunks]
    result[rank].copy_(chunks[rank])
    handles = []
    for other in range(n):
        if other != rank:
            handles.append(dist.isend(chunks[other], dst=other))
            handles.append(dist.irecv(result[other], src=other))
    for handle in handles:
        handle.wait()
    return result
    ### END SOLUTION


# %% check all_to_all

# %% [markdown]
# ## All-reduce
#
# The operation that data-parallel training lives on is **all-reduce**: every rank has a tensor, and afterwards every rank has the sum of all. Each rank has computed gradients on its own part of the batch; their sum, divided by n, is the gradient of the whole batch, and each rank can take the same step by itself.


# %%
def sum_of_all():
    x = torch.full((3,), 10 ** dist.get_rank(), device=device())
    dist.all_reduce(x)  # in place, and a sum unless told otherwise
    return x.tolist()


launch(sum_of_all, 4)

# %% [markdown]
# How would you build it? The obvious way again has a centre: all ranks send their tensor of S bytes to rank 0, which adds them up and sends the sum back. Then (n − 1)·S bytes arrive at rank 0 and (n − 1)·S leave it: with more ranks, rank 0's link becomes the bottleneck, while the others' links are idle most of the time.
#
# ### The ring
#
# The ring uses all links all the time. Cut the tensor into n **chunks**, and let every rank send one chunk to its right neighbour while it receives another from its left.
#
# - **Reduce-scatter**, n − 1 steps: what arrives is *added* to one's own chunk. Afterwards each rank has one chunk that is complete.
# - **All-gather**, n − 1 steps: the complete chunks go round, and what arrives *replaces* one's own chunk.

# %%
draw_ring_plan(4)

# %% [markdown]
# This is your `reduce_scatter`, followed by your `all_gather`. Try it (the chunks must be of equal size):


# %%
def two_halves():
    x = torch.full((8,), 10 ** dist.get_rank())
    mine = reduce_scatter(list(x.chunk(dist.get_world_size())))
    return torch.cat(all_gather(mine)).tolist()


launch(two_halves, 4, backend="gloo")

# %% [markdown]
# Back to the picture. Each square is a chunk, with the ranks whose numbers are in it; green ones are complete. The arrows show what is sent next, always one rank further (from the last to rank 0). Follow chunk 0: it leaves rank 0, collects the numbers of ranks 1 and 2, and is complete when it reaches rank 3. On its second way round it overwrites.
#
# Each rank sends 2(n − 1) chunks of S/n bytes:
#
# $$2\,\frac{n-1}{n}\,S,$$
#
# which is less than 2·S *for any number of ranks*. It can be shown that no all-reduce can do with less (Patarasuk and Yuan, see below), and that is why the ring became famous.

# %%
print("bytes that the busiest rank sends, in units of S")
print(f"{'ranks':>6} {'to rank 0 and back':>20} {'ring':>6}")
for n in (2, 4, 8, 64, 1024):
    print(f"{n:>6} {n - 1:>20} {2 * (n - 1) / n:>6.2f}")

# %% [markdown] exercise ring_all_reduce
# Now the whole of it. The picture above is the specification; the rest is indices. On paper first: in step s, which chunk does rank r send, and which one arrives?
#
# Three things to watch. The number of elements need not be a multiple of n, and may even be smaller than n. What you cut must cover all of it; `x.flatten()` of a contiguous tensor *is* that tensor, not a copy. And all ranks send at the same time.
#
# When it is wrong, look at the table by rank that the check shows: for each stretch of elements it says whose numbers are in the sum.


# %% answer ring_all_reduce
def ring_all_reduce(x: torch.Tensor) -> torch.Tensor:
    """Return the sum of all ranks' x, by a ring all-reduce.

    In each of 2(n - 1) steps a rank sends one chunk to one ring neighbour, always the same,
    and receives one from the other. So it sends 2(n - 1) chunks of at most ⌈size / n⌉
    elements. Only point-to-point messages: no collectives.

    Args:
        x: of any shape, contiguous or not, and of any number of elements; shape and dtype
            are the same on all ranks. It is not changed.

    Returns:
        A new tensor of x's shape and dtype, the same on every rank.
    """
    ### BEGIN SOLUTION
    rank, n = dist.get_rank(), dist.get_world_size()
    right, left = (rank + 1) % n, (rank - 1) % n
    total = x.clone(memory_format=torch.contiguous_format)
    chunks = total.view(-1).tensor_split(n)  # views: what is written into them is in total

    def pass_chunk(out: torch.Tensor, into: torch.Tensor) -> None:
        sending = dist.isend(out, dst=right)
        dist.recv(into, src=left)
        sending.wait()

    for step in range(n - 1):  # reduce-scatter: what arrives is added
        mine = chunks[(rank - step - 1) % n]
        arrived = torch.empty_like(mine)
        pass_chunk(chunks[(rank - step) % n], arrived)
        mine += arrived
    for step in range(n - 1):  # all-gather: what arrives is complete
        pass_chunk(chunks[(rank + 1 - step) % n], chunks[(rank - step) % n])
    return total
    ### END SOLUTION


# %% check ring_all_reduce

# %% [markdown]
# ### Your ring, recorded
#
# Step through your own ring: every arrow is a message that your code has sent, and the numbers in a square are the ranks whose numbers are in it at that moment.

# %%
ring.show(ring_all_reduce)

# %% [markdown]
# The same in time, with a larger tensor. All ranks send and receive at the same time, and 24 messages travel between four ranks. How many bytes did each of them send?


# %%
def reduce_a_million():
    x = torch.ones(1_000_000, device=device())
    dist.barrier()
    return ring_all_reduce(x)[:3].tolist()


run = launch(reduce_a_million, 4, backend="gloo")
for outcome in run:
    sent = sum(call.bytes for call in outcome.calls if call.op in ("send", "isend"))
    print(f"rank {outcome.rank} sent {sent:,} bytes: {sent / 4_000_000:.2f} × the tensor")
display(draw_messages(run, "ring_all_reduce, 4 MB on 4 ranks"))
run

# %% [markdown]
# ## When the ranks do not agree
#
# A collective is a contract between all ranks: the same operations, in the same order, on tensors of the same shape and dtype. Nobody reads the contract before the work begins. What follows are three programs that break it, each in a way that was reported from real training code, more than once. Each is followed by an exercise: **find the bug**, copy the program into the cell below it, and repair it there. First run each as it was found, and read what it says, and on which rank.
#
# ### In production: the report
#
# A job trains well and prints its loss, but the loss is that of rank 0's batches alone. Somebody adds an `all_reduce`, so that the mean over all ranks is printed. On one GPU it works.


# %%
def train_as_found(batches):
    rank, n = dist.get_rank(), dist.get_world_size()
    w = batches[0].new_zeros(1)
    for epoch, batch in enumerate(batches):
        error = w - batch  # the loss is the mean of its squares
        gradient = 2 * error.mean(dim=0, keepdim=True)
        dist.all_reduce(gradient)
        w = w - 0.25 * gradient / n
        if rank == 0:
            loss = error.square().mean()
            dist.all_reduce(loss)
            print(f"epoch {epoch}: loss {loss.item() / n:.3f}")
    return w


def try_training(train):
    torch.manual_seed(dist.get_rank())
    return train([torch.randn(4) + 10 for _ in range(3)])


run = launch(try_training, 3, train_as_found, backend="gloo")
run

# %% [markdown]
# It hangs, and the line where it hangs is the line of the bug. But look at what rank 0 printed *before*: a loss, and it is nonsense (about 100 would be right for the first epoch). Collectives are matched by their order, not by their meaning. Rank 0's *loss* was added to the other ranks' *next gradient*, both being one float; rank 0 then used a gradient that is no gradient. Had the training been longer, or had the last epoch been printed by all, this could have gone on for days without hanging.
#
# The same happens wherever something that needs all ranks stands where only some come along: a barrier below `if rank != 0: return` in a function that saves checkpoints ([sparsify, pull request 5](https://github.com/EleutherAI/sparsify/pull/5): "stuck right after the checkpoint is saved"), an evaluation on rank 0 with a synchronised metric in it, a `state_dict()` that gathers. Here is who waits for whom at the end:

# %%
deadlock.show(run)

# %% [markdown] exercise train_and_report
# Repair the program: every rank returns the same w, that of one process which trains on all batches, and rank 0 alone prints the loss, as the mean over all ranks, in each epoch. The loss is the one before the step, as in the program that was found.


# %% answer train_and_report
def train_and_report(batches: list[torch.Tensor]) -> torch.Tensor:
    """Fit one number to all ranks' batches by gradient descent, and report the loss.

    In each epoch rank 0 prints f"epoch {epoch}: loss {loss:.3f}", where loss is the mean over
    all ranks of the loss on their batches, before the step. The other ranks print nothing.

    Args:
        batches: this rank's, one an epoch; float64 of shape (k,), the same shape on all ranks.

    Returns:
        w, of shape (1,), the same on all ranks.
    """
    ### BEGIN SOLUTION
    rank, n = dist.get_rank(), dist.get_world_size()
    w = batches[0].new_zeros(1)
    for epoch, batch in enumerate(batches):
        error = w - batch
        gradient = 2 * error.mean(dim=0, keepdim=True)
        dist.all_reduce(gradient)
        w = w - 0.25 * gradient / n
        loss = error.square().mean()
        dist.all_reduce(loss)  # all ranks take part...
        if rank == 0:  # ...and one of them prints
            print(f"epoch {epoch}: loss {loss.item() / n:.3f}")
    return w
    ### END SOLUTION


# %% check train_and_report

# %% [markdown]
# ### In production: the last batch
#
# An evaluation gathers the predictions of all ranks. It ran for months, on a test set that the number of GPUs divided. Then somebody added a few examples.


# %%
def gather_as_found(predictions):
    n = dist.get_world_size()
    gathered = [torch.empty_like(predictions) for _ in range(n)]
    dist.all_gather(gathered, predictions)
    return torch.cat(gathered)


def predict(length_of_the_last):
    rank, n = dist.get_rank(), dist.get_world_size()
    length = length_of_the_last if rank == n - 1 else 4
    return gather_as_found(torch.full((length,), 1.0 + rank)).tolist()


launch(predict, 3, 4, backend="gloo")

# %%
launch(predict, 3, 3, backend="gloo")

# %% [markdown]
# Gloo ends the rank that got more than it has room for by an abort, in C++, without an exception; other ranks only see that a connection was closed. That is the *good* case. A report to NCCL ([issue 1417](https://github.com/NVIDIA/nccl/issues/1417)) describes the others: with some sizes a hang, with some a result that looks plausible. And when only the shapes differ and the number of elements does not, there is no error anywhere. Try it:


# %%
def same_number_of_elements():
    shape = (2, 3) if dist.get_rank() == 0 else (3, 2)
    x = torch.arange(6.0, device=device()).view(shape)
    dist.all_reduce(x)
    return x.tolist()


launch(same_number_of_elements, 2, backend="gloo")

# %% [markdown] exercise gather_predictions
# Repair the gathering. Each rank has some predictions, possibly none; all ranks get all of them. Any collective of `torch.distributed` is allowed. A message carries no shape, so something has to be agreed on first.


# %% answer gather_predictions
def gather_predictions(predictions: torch.Tensor) -> torch.Tensor:
    """Return all ranks' predictions in one tensor: first rank 0's, then rank 1's, and so on.

    Args:
        predictions: of shape (k,), where k differs by rank and may be 0. The dtype is the
            same on all ranks. Any number can be a prediction, also 0 and -1.

    Returns:
        A tensor of the same dtype and of shape (sum of all k,), equal on all ranks.
    """
    ### BEGIN SOLUTION
    n = dist.get_world_size()
    length = torch.tensor([len(predictions)], device=predictions.device)
    lengths = [torch.empty_like(length) for _ in range(n)]
    dist.all_gather(lengths, length)
    padded = predictions.new_zeros(int(max(lengths)))
    padded[: len(predictions)] = predictions
    gathered = [torch.empty_like(padded) for _ in range(n)]
    dist.all_gather(gathered, padded)
    return torch.cat([piece[: int(k)] for piece, k in zip(gathered, lengths)])
    ### END SOLUTION


# %% check gather_predictions

# %% [markdown]
# ### In production: one shard without a decimal point
#
# Each rank reads its own part of a table and computes the mean of a column, over all parts. In one part every value happens to be a whole number, and the CSV reader, which guesses, makes it int64. The other parts are float64. Both have 8 bytes.


# %%
def mean_as_found(values):
    total, count = values.sum(), torch.tensor(len(values))
    dist.all_reduce(total)
    dist.all_reduce(count)
    return total.item() / count.item()


def read_and_average():
    column = [3, 5, 4] if dist.get_rank() == 0 else [2.5, 3.25]
    values = torch.tensor(column)
    if values.is_floating_point():
        values = values.double()  # as a CSV reader would have it
    return mean_as_found(values)


launch(read_and_average, 2, backend="gloo")

# %% [markdown]
# No error, and two ranks with two different means, both far off: it is 3.55. (What you see are the bits of an integer read as those of a float, and the other way round.) With NCCL the same mistake has been reported as a hang, with float32 on one rank and bfloat16 on the other ([PyTorch issue 150433](https://github.com/pytorch/pytorch/issues/150433)). An answer that "ran through" proves nothing; only a comparison with the right result does.

# %% [markdown] exercise global_mean
# Repair it. The values may be large, and their fractions count: 10,000,003.25 is not 10,000,003.


# %% answer global_mean
def global_mean(values: torch.Tensor) -> float:
    """Return the mean over all ranks' values, every value counting once.

    Args:
        values: of shape (k,) with k > 0, which differs by rank; int64 on some ranks, float64
            on others.
    """
    ### BEGIN SOLUTION
    total = values.double().sum()
    count = torch.tensor(len(values), device=values.device)
    dist.all_reduce(total)
    dist.all_reduce(count)
    return total.item() / count.item()
    ### END SOLUTION


# %% check global_mean

# %% [markdown]
# All three programs would have been caught by the same habits: no collective under a condition that depends on the rank or on its data; buffers with `empty_like`, dtypes set and not guessed; sizes exchanged before data. And, when something hangs: look at *all* ranks, for the one that hangs need not be the one that is wrong. `TORCH_DISTRIBUTED_DEBUG=DETAIL` makes PyTorch compare the calls of all ranks before each collective, and `dist.monitored_barrier()` (gloo) names the rank that did not come. Neither sees that two all-reduces of the same shape were swapped.

# %% [markdown]
# ## What a message costs
#
# Which is better, a ring or a tree? Buckets of 1 MB or of 25? Compress, or not? Such questions are answered by a model with two numbers. A message of S bytes takes
#
# $$t(S) = \alpha + \beta S.$$
#
# α is the **latency**, in seconds: what a message costs before its first byte arrives. β is seconds per byte, one divided by the **bandwidth**. It is a crude model, and a surprisingly good one. Let us measure messages between two ranks of this machine, each size several times. A message goes there and comes back, and half of that time is taken: clocks of different machines need not agree, and so no clock but one is read.


# %%
def ping_pong(sizes, repeats):
    rank = dist.get_rank()
    measured = []
    for size in sizes:
        x = torch.zeros(size, dtype=torch.uint8, device=device())
        for _ in range(repeats):
            begin = time.perf_counter()
            if rank == 0:
                dist.send(x, dst=1)
                dist.recv(x, src=1)
            else:
                dist.recv(x, src=0)
                dist.send(x, dst=0)
            if x.is_cuda:
                torch.cuda.synchronize()
            measured.append((size, (time.perf_counter() - begin) / 2))
    return measured


MESSAGE_SIZES = [4**k for k in range(1, 13)]  # bytes, up to 16 MB
run = launch(ping_pong, 2, MESSAGE_SIZES, 8)
measurements = run.values[0]
for size in MESSAGE_SIZES[::3]:
    times = sorted(seconds for s, seconds in measurements if s == size)
    print(f"{size:>10,} bytes: best {times[0] * 1e6:8.1f} µs, worst {times[-1] * 1e6:8.1f} µs")

# %% [markdown]
# The measurements of one size differ, sometimes by a factor of ten: other programs run, connections are opened, memory is touched for the first time. All of that makes a message *slower*. The smallest time is closest to what the message itself takes.

# %% [markdown] exercise fit_alpha_beta
# Find α and β that fit such measurements. The check asks for the time of sizes that were not measured, small ones and large ones, and every prediction must be within 30 %.
#
# That is harder than it sounds. The times span five orders of magnitude. A least-squares line, as it stands in every spreadsheet, minimises errors in *seconds*, and 5 % of the time of 16 MB is more than the whole latency. Look at what alpha becomes when the largest measurement is 5 % too small.


# %% answer fit_alpha_beta
def fit_alpha_beta(measurements: list[tuple[int, float]]) -> tuple[float, float]:
    """Fit time = alpha + beta · size to measured messages.

    alpha + beta · size should be within 30 % of the truth for any size.

    Args:
        measurements: (size in bytes, time in seconds), in any order, from a few bytes to many
            MB. A size may occur several times; some of its times may be far too long,
            because something else disturbed them, and none is much too short.

    Returns:
        alpha in seconds, and beta in seconds a byte.
    """
    ### BEGIN SOLUTION
    best = {}
    for size, seconds in measurements:
        best[size] = min(seconds, best.get(size, seconds))
    sizes = torch.tensor(list(best), dtype=torch.float64)
    times = torch.tensor(list(best.values()), dtype=torch.float64)
    # Each equation is divided by its time: what counts is the relative error.
    matrix = torch.stack([1 / times, sizes / times], dim=1)
    alpha, beta = torch.linalg.lstsq(matrix, torch.ones(len(best), 1).double()).solution
    return alpha.item(), beta.item()
    ### END SOLUTION


# %% check fit_alpha_beta

# %% [markdown]
# Now your machine's two numbers, and a test of the model: 3 MB (the cross in the plot) was not among the measurements.

# %%
import matplotlib.pyplot as plt

alpha, beta = fit_alpha_beta(measurements)
print(f"latency {alpha * 1e6:.1f} µs, bandwidth {1 / beta / 1e9:.2f} GB/s")
print(f"latency and bandwidth cost the same at {alpha / beta:,.0f} bytes")

unseen = 3_000_000
taken = min(seconds for _, seconds in launch(ping_pong, 2, [unseen], 8).values[0])
predicted = alpha + beta * unseen
print(f"{unseen:,} bytes: predicted {predicted * 1e6:.0f} µs, took {taken * 1e6:.0f} µs")

figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
axes.loglog(*zip(*measurements), ".", color="#9bbcd8", label="measured")
axes.loglog(
    MESSAGE_SIZES, [alpha + beta * s for s in MESSAGE_SIZES], color="#2a78b5", label="your model"
)
axes.loglog([unseen], [taken], "x", color="#b3261e", markersize=9, label="not measured before")
axes.set(xlabel="bytes", ylabel="seconds", title="A message between two ranks of this machine")
axes.grid(alpha=0.3)
legend = axes.legend()

# %% [markdown]
# On the left the line is flat: 4 bytes take as long as 1,000. On the right it is straight: twice the bytes, twice the time. In between, the machine may leave the line by a factor of two, where a cache is exceeded or the library changes its method; a model with two numbers knows nothing of that.
#
# ### Ring or tree?
#
# With α and β, algorithms can be compared before anybody writes them. An all-reduce can also be done by a tree: reduce up to the root, broadcast down again, the whole tensor in each round.
#
# | | steps, one after the other | each sends | time |
# |---|---|---|---|
# | ring | $2(n-1)$ | $S/n$ | $2(n-1)\,(\alpha + \beta S/n)$ |
# | tree | $2\lceil\log_2 n\rceil$ | $S$ | $2\lceil\log_2 n\rceil\,(\alpha + \beta S)$ |
#
# The ring pays more latency, the tree more bandwidth. So there is a size below which the tree wins.

# %% [markdown] exercise crossover
# Compute that size. For 2 and for 3 ranks the ring is never slower: then it is 0.


# %% answer crossover
def crossover(n: int, alpha: float, beta: float) -> float:
    """The size of a tensor, in bytes, for which ring and tree all-reduce take the same time.

    The ring takes 2(n - 1) steps of S / n bytes, the tree 2⌈log₂ n⌉ steps of S bytes; a step
    with s bytes takes alpha + beta · s seconds.

    Args:
        n: the number of ranks, 2 or more.
        alpha, beta: the link's latency in seconds, and its seconds a byte.
    """
    ### BEGIN SOLUTION
    levels = (n - 1).bit_length()  # ⌈log₂ n⌉
    return alpha / beta * (n - 1 - levels) / (levels - (n - 1) / n)
    ### END SOLUTION


# %% check crossover

# %%
print(
    f"on this machine's link ({alpha * 1e6:.0f} µs, {1 / beta / 1e9:.1f} GB/s) the ring wins from"
)
for n in (4, 8, 64, 1024):
    print(f"{n:>6} ranks: {crossover(n, alpha, beta):>14,.0f} bytes on")

# %% [markdown]
# With more ranks the tree stays ahead for longer. This is why NCCL is *not* always a ring: it has rings and trees (and more), and chooses by size, number of GPUs and how they are connected.
#
# ## Measure it: all-reduce on this machine
#
# Messages were the warm-up; here is the operation itself, PyTorch's and yours, from 16 bytes to 16 MB on four ranks. The lines are your model, fitted to the points of each.

# %%
SIZES = [4**k for k in range(1, 12)]  # elements; 4 bytes each


def time_all_reduce(all_reduce, sizes):
    best = []
    for size in sizes:
        x = torch.ones(size, device=device())
        times = []
        for _ in range(20 if size < 100_000 else 4):  # the first also opens connections
            dist.barrier()
            begin = time.perf_counter()
            all_reduce(x)
            if x.is_cuda:
                torch.cuda.synchronize()
            times.append(time.perf_counter() - begin)
        best.append(min(times))  # what the operation takes when nothing else disturbs it
    return best


figure, axes = plt.subplots(figsize=(8, 4), layout="constrained")
for name, all_reduce in (
    ("dist.all_reduce", dist.all_reduce),
    ("ring_all_reduce", ring_all_reduce),
):
    run = launch(time_all_reduce, 4, all_reduce, SIZES)
    if run.ok:
        seconds = [max(times) for times in zip(*run.values)]  # the slowest rank counts
        sizes = [4 * size for size in SIZES]
        (points,) = axes.loglog(sizes, seconds, "o", label=name)
        a, b = fit_alpha_beta(list(zip(sizes, seconds)))
        axes.loglog(sizes, [a + b * s for s in sizes], color=points.get_color(), linewidth=1)
        print(
            f"{name}: {a * 1e6:.0f} µs + {b * 1e9:.2f} ns a byte; equal parts at {a / b:,.0f} bytes"
        )
axes.set(xlabel="bytes", ylabel="seconds", title="All-reduce on 4 ranks, on this machine")
axes.grid(alpha=0.3)
legend = axes.legend()

# %% [markdown]
# **A question for your own figures:** at which size do the two parts, latency and bytes, take equally long? It is printed. Where messages are ten times larger than that, four times the size takes nearly four times as long; where they are ten times smaller, only 1.3 times. A gradient tensor that is smaller than that pays mostly for being sent at all. That is why DDP packs gradients into *buckets* of 25 MB before it reduces them.
#
# (Does the ring's prediction from the ping-pong, 2·3·(α + βS/4), come true? On a machine with fewer cores than ranks it is too good: there the ranks take turns on the cores, and the links that the model takes for separate are one and the same memory.)
#
# ## From 30 % to 10 %
#
# An 8-GPU job spent 30 % of each step in all-reduce. After some work it was 10 %. The story is often told as "use NCCL's all-reduce instead", but that cannot be the reason: on GPUs, PyTorch's `all_reduce` *is* NCCL's. What brings such a share down is
#
# - **topology**: which GPUs are neighbours in the ring, and whether their messages go over NVLink or through the CPU;
# - **overlap**: to start reducing the last layers' gradients while the first layers' are still being computed, so that the step no longer waits for all of it;
# - **fewer bytes**: to send gradients in 16 bits, or only the largest of them.
#
# And what did the job gain? If communication was 30 % of a step and the other 70 % stayed as they were, the new step takes 70 / 0.9 ≈ 78 % of the time: 1.29 times as fast. To know the share is to know what there is to win. But *which* share? When computation and communication overlap, the time that an all-reduce takes and the time that the step waits for it are two different numbers.

# %% [markdown] exercise comm_share
# A profiler gives you the events of one rank in one step: when it computed, and when an all-reduce was under way. Find both shares: of the time in which some all-reduce runs, and of the time in which one runs and nothing computes. The second one is called **exposed**, and it is all that could be won.


# %% answer comm_share
def comm_share(events: list[tuple[str, float, float]]) -> tuple[float, float]:
    """The share of a step that is communication, and the share that is exposed communication.

    The step lasts from the earliest begin to the latest end of any event.

    Args:
        events: (kind, begin, end), in seconds, at least one. The kind is "compute" or
            "all_reduce". They come in any order; any of them may overlap, and there may be
            pauses between them.

    Returns:
        The share of the step in which at least one all-reduce is under way, and the share in
        which one is and nothing is computed. Both are from 0 to 1.
    """
    ### BEGIN SOLUTION
    times = sorted({time for _, begin, end in events for time in (begin, end)})
    communicating = exposed = 0.0
    for left, right in zip(times, times[1:]):  # within a piece, nothing begins or ends
        running = {kind for kind, begin, end in events if begin <= left and right <= end}
        if "all_reduce" in running:
            communicating += right - left
            if "compute" not in running:
                exposed += right - left
    step = times[-1] - times[0]
    return communicating / step, exposed / step
    ### END SOLUTION


# %% check comm_share

# %% [markdown]
# ### Two ways to bring it down, measured
#
# Here is the backward pass of a model with eight layers, on two ranks. Each layer computes for 8 ms (it sleeps, and leaves the processor to the messages, as a GPU would), and then its gradient of 4 MB is complete. One thread of each rank does the communication, one all-reduce after the other, as NCCL's stream does on a GPU.

# %%
from concurrent.futures import ThreadPoolExecutor


def backward(overlap, dtype):
    gradients = [torch.ones(1_000_000) for _ in range(8)]
    events = []

    def compute():
        begin = time.perf_counter()
        time.sleep(0.008)
        events.append(("compute", begin, time.perf_counter()))

    def reduce(gradient):
        begin = time.perf_counter()
        message = gradient.to(dtype)
        dist.all_reduce(message)
        gradient.copy_(message)
        events.append(("all_reduce", begin, time.perf_counter()))

    dist.all_reduce(torch.ones(1_000_000))  # opens the connections
    dist.barrier()
    with ThreadPoolExecutor(1) as channel:  # at its end, all that was submitted is done
        for gradient in gradients:
            compute()
            if overlap:
                channel.submit(reduce, gradient)
        if not overlap:
            for gradient in gradients:
                channel.submit(reduce, gradient)
    return events


WAYS = {
    "first all of backward, then all all-reduces": (False, torch.float32),
    "gradients in bfloat16: half the bytes": (False, torch.bfloat16),
    "overlap: each gradient as soon as it is there": (True, torch.float32),
}
figure, panels = plt.subplots(len(WAYS), figsize=(8, 3.6), sharex=True, layout="constrained")
for axes, (name, way) in zip(panels, WAYS.items()):
    run = launch(backward, 2, *way, backend="gloo")
    events = run.values[0]
    start = min(begin for _, begin, _ in events)
    step = max(end for _, _, end in events) - start
    share, exposed = comm_share(events)
    print(f"{name:<46} {1000 * step:4.0f} ms, share {share:4.0%}, exposed {exposed:4.0%}")
    for row, kind, colour in ((0, "compute", "#7aa974"), (1, "all_reduce", "#d1730f")):
        spans = [(1e3 * (b - start), 1e3 * (e - b)) for k, b, e in events if k == kind]
        axes.broken_barh(spans, (row - 0.35, 0.7), color=colour, edgecolor="white")
    axes.set_title(name, loc="left", fontsize=9)
    axes.set_yticks([0, 1], ["compute", "all-reduce"])
    axes.set_ylim(1.6, -0.6)
    axes.spines[["top", "right"]].set_visible(False)
xlabel = axes.set_xlabel("milliseconds")

# %% [markdown]
# Half the bytes should make the all-reduces themselves shorter. On a CPU you may not see it: the processor must convert, and add numbers that it has no instruction for. A GPU has one. Overlap does something else: the share stays large, it may even grow, since the step becomes shorter, but nearly all of it is hidden, and what is left exposed is the last gradient, which nothing comes after. A profiler that reports only the first number would say that overlap did not help.
#
# Lesson 03 builds this into DDP, and measures it on a real model.

# %% [markdown]
# ## Groups, and the slow link
#
# In the story, much of the 20 % came from **topology**. Eight GPUs of one machine may talk over NVLink at hundreds of GB/s; two machines talk over a network that is ten times slower. (On an older machine without NVLink, the two processors are the "nodes", and the link between them is the slow one.) What counts then is not how many bytes are sent, but how many cross the slow link.
#
# For that one needs collectives of *some* ranks: `dist.new_group(ranks)` makes a **group**, and every collective takes `group=`. There is one rule, and it is broken all the time: `new_group` is itself a collective, of **all** ranks. Also those that are not in the new group must call it, with the same ranks, in the same order. Here four ranks on two "nodes" ignore that, and each makes only the group that it is in:


# %%
def my_group_only():
    rank = dist.get_rank()
    node = [0, 1] if rank < 2 else [2, 3]
    group = dist.new_group(node)  # what about the other one?
    x = torch.tensor([10.0**rank])
    dist.all_reduce(x, group=group)
    print(f"the sum over ranks {node} is {x.item():.0f}")


launch(my_group_only, 4, backend="gloo", timeout=10)

# %% [markdown]
# Read the digits. (Your run may differ, or end in an error or a deadlock.) Groups are counted, and group number 1 of every rank is taken to be the same one; ranks 0 and 3 may well find each other in it. Now as it should be:


# %%
def all_groups():
    rank = dist.get_rank()
    groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]  # all ranks make both
    x = torch.tensor([10.0**rank])
    dist.all_reduce(x, group=groups[rank // 2])
    print(f"the sum over the ranks of node {rank // 2} is {x.item():.0f}")


launch(all_groups, 4, backend="gloo")

# %% [markdown] exercise hierarchical_all_reduce
# An all-reduce in two levels. First the ranks of each node add up among themselves; then one sum a node crosses to the other nodes; then each node hands the total on to its ranks. Node k has the ranks from `k * ranks_per_node` to `(k + 1) * ranks_per_node - 1`.
#
# All collectives of `torch.distributed` are allowed. The check counts the bytes that are given to collectives whose group spans several nodes: with 2 nodes of 3 ranks, a flat all-reduce gives 6 tensors to the slow link, and 2 are enough.


# %% answer hierarchical_all_reduce
def hierarchical_all_reduce(x: torch.Tensor, ranks_per_node: int) -> torch.Tensor:
    """Return the sum of all ranks' x, with little traffic between the nodes.

    Args:
        x: contiguous, of any shape and dtype, the same on all ranks. It is not changed.
        ranks_per_node: divides the number of ranks. There may be one node only, and one rank
            on each.

    Returns:
        A new tensor of x's shape and dtype, the same on every rank.
    """
    ### BEGIN SOLUTION
    rank, n = dist.get_rank(), dist.get_world_size()
    nodes = [list(range(first, first + ranks_per_node)) for first in range(0, n, ranks_per_node)]
    leaders = [ranks[0] for ranks in nodes]
    groups = [dist.new_group(ranks) for ranks in nodes]  # all ranks create all groups
    between = dist.new_group(leaders)
    node = rank // ranks_per_node
    total = x.clone()
    dist.reduce(total, dst=leaders[node], group=groups[node])
    if rank == leaders[node]:
        dist.all_reduce(total, group=between)
    dist.broadcast(total, src=leaders[node], group=groups[node])
    return total
    ### END SOLUTION


# %% check hierarchical_all_reduce

# %% [markdown]
# What does it save? Take the model from above, and 16 GPUs on 2 nodes. Within a node α = 5 µs and 300 GB/s, between them 20 µs and 25 GB/s (typical data-sheet figures of NVLink and of a 200 Gbit/s network, not measured here). A flat ring moves at the pace of its slowest link.


# %%
def ring_seconds(n, size, latency, bandwidth):
    return 2 * (n - 1) * (latency + size / n / bandwidth)


NVLINK, NETWORK = (5e-6, 300e9), (20e-6, 25e9)
print("      size   flat ring   leaders only   each rank its own part")
for size in (1e4, 1e6, 1e8, 1e9):
    flat = ring_seconds(16, size, *NETWORK)
    within = ring_seconds(8, size, *NVLINK)
    leaders = within + ring_seconds(2, size, *NETWORK)  # one rank a node has the link to itself
    parts = within + ring_seconds(2, size / 8, NETWORK[0], NETWORK[1] / 8)  # eight share it
    print(f"{size:>10,.0f} {1e3 * flat:>8.2f} ms {1e3 * leaders:>11.2f} ms {1e3 * parts:>21.2f} ms")

# %% [markdown]
# For small tensors, two levels save steps over the slow link, each of which costs its latency. For large ones it is bytes: between the nodes a flat ring carries 2 · 15/16 of the tensor, 1.9 times, and two levels on two nodes carry it once. That is if the ring's order follows the nodes, so that only two of its sixteen links cross. If the order jumps from node to node, all sixteen share the slow link, and that is what a bad topology costs. NCCL looks at the machine and finds a good order itself; what breaks it is a wrong assignment of GPUs to ranks, a hidden link, a container that does not show it the topology. The last two columns are equal because the eight parts share one link. Where each rank has a network card of its own, each part has a link to itself: put `NETWORK[1]` in the place of `NETWORK[1] / 8`, and see.
#
# You will rarely write this all-reduce yourself. Groups like these are the daily bread of larger training, though: a model sharded within each node and replicated between them (FSDP's hybrid sharding), tensor parallelism within a node and data parallelism between.

# %% [markdown]
# ## Fewer bytes: Top-K
#
# The last way to bring the share down is to send less. **Top-K compression** sends only the k gradient entries that are largest in absolute value: for a model with 10⁸ parameters and k = 10⁵, a thousandth of the values (and their indices, which have to be sent as well). An all-reduce cannot add them up on the way, since each rank chooses other entries; so values and indices are gathered from all ranks, and each rank adds up.
#
# It sounds harmless: small gradients matter less. But a small gradient that is the same in every step, on every rank, is a *direction*, and large ones may be noise which cancels over the ranks. Plain Top-K never sends the first kind.
#
# **Error feedback** repairs it with one tensor of memory. What a rank does not send, it keeps, and adds to its gradient in the next step. A small entry that always points the same way grows until it is among the largest. Nothing is lost; it comes later.

# %% [markdown] exercise top_k_compress
# Write one step of it: choose, exchange, remember. The check trains a small model with your function for 60 steps. Each rank's two largest gradients are cancelled by those of the other ranks, and the k = 2 entries that plain Top-K sends are those two, in every step.


# %% answer top_k_compress
def top_k_compress(gradient: torch.Tensor, error: torch.Tensor, k: int) -> torch.Tensor:
    """Average the k largest entries of each rank's gradient + error over the ranks.

    Each rank chooses the k entries of gradient + error that are largest in absolute value, and
    sends their values and indices, and nothing else. What it did not send is left in error,
    which is changed in place: the caller hands it in again in the next step.

    Args:
        gradient: this rank's, of shape (d,), d >= k; the same dtype on all ranks.
        error: like gradient; what this rank has not sent in earlier steps, 0 at the beginning.
        k: how many entries each rank sends.

    Returns:
        A dense tensor like gradient, the same on all ranks: the sum of what all ranks sent,
        divided by the number of ranks.
    """
    ### BEGIN SOLUTION
    n = dist.get_world_size()
    wanted = gradient + error
    indices = wanted.abs().topk(k).indices
    values = wanted[indices]
    error.copy_(wanted)
    error[indices] = 0
    all_values = [torch.empty_like(values) for _ in range(n)]
    all_indices = [torch.empty_like(indices) for _ in range(n)]
    dist.all_gather(all_values, values)
    dist.all_gather(all_indices, indices)
    mean = torch.zeros_like(gradient)
    mean.index_add_(0, torch.cat(all_indices), torch.cat(all_values))  # an index may come twice
    return mean / n
    ### END SOLUTION


# %% check top_k_compress

# %% [markdown]
# See it converge, and plain Top-K not. (Plain Top-K is your own function with a fresh error of zeros in each step.) Three ranks fit w, 100 numbers, each to its own target; the best w is the mean of the targets. In ten entries the targets differ wildly. After 150 steps the learning rate becomes a tenth, as schedules do.


# %%
def fit_with(kind, k, steps):
    rank = dist.get_rank()
    generator = torch.Generator().manual_seed(0)  # the same on all ranks
    target = torch.randn(100, generator=generator)
    quarrel = 30 * torch.randn(3, 10, generator=generator)
    target[:10] += (quarrel - quarrel.mean(dim=0))[rank]
    best = target.clone()
    dist.all_reduce(best)
    best /= 3
    w, error, distances = torch.zeros(100), torch.zeros(100), []
    for step in range(steps):
        if kind == "plain":
            error.zero_()
        rate = 0.1 if step < 150 else 0.01
        w -= rate * top_k_compress(w - target, error, 100 if kind == "dense" else k)
        distances.append((w - best).norm().item())
    return distances


figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
for kind, label in (
    ("dense", "all 100 entries"),
    ("plain", "Top-10"),
    ("error feedback", "Top-10 with error feedback"),
):
    run = launch(fit_with, 3, kind, 10, 300, backend="gloo")
    if run.ok:
        axes.semilogy(run.values[0], label=label)
axes.set(xlabel="step", ylabel="distance of w from the best")
axes.grid(alpha=0.3)
legend = axes.legend()

# %% [markdown]
# With error feedback w comes near and stays at some distance: what was held back arrives late and in one piece, and throws w past its place by as much as the learning rate lets it. When that becomes smaller, the distance does, too: it needs more steps than whole gradients, with a tenth of the values in each. Plain Top-K stops where the quarrelling entries keep its ten places busy. Whether it pays is a question of α and β again: choosing the largest of 10⁸ numbers takes time too, and within a machine with NVLink it costs more than it saves. Over slow networks it has been used with k of a thousandth and less. PyTorch's DDP has a place for such things (communication hooks), and one compression ready to use: PowerSGD, which sends a low-rank approximation instead, and has error feedback too.

# %% [markdown]
# ## Recap
#
# 1. A message is bytes: both sides must agree on shape and dtype, and often nothing checks that they do.
# 2. `send` may block until the receive is there; a circle of ranks that wait for each other is a deadlock. Break it by order, by `isend` and `wait`, or with a collective.
# 3. Between `isend` or `irecv` and `wait`, the buffer belongs to the library.
# 4. A tree broadcasts in ⌈log₂ n⌉ rounds, because everybody who has the data helps.
# 5. A ring all-reduce sends 2(n − 1)/n of the tensor from each rank, however many there are.
# 6. Every rank makes the same calls in the same order, or some wait for ever; a mean over ranks is a sum divided by a count, both reduced.
# 7. A message costs α for being one and β for each byte: few large ones, hidden behind computation, and fewer bytes only where choosing them is cheaper than sending them.
#
# ## Where to read on
#
# - *Distributed communication package, torch.distributed*: PyTorch documentation.
# - *Writing Distributed Applications with PyTorch*: tutorial by Séb Arnold, in the PyTorch documentation.
# - *Bandwidth optimal all-reduce algorithms for clusters of workstations*: Pitch Patarasuk and Xin Yuan, 2009. The ring, and the proof that it sends as little as possible.
# - *Optimization of Collective Communication Operations in MPICH*: Rajeev Thakur, Rolf Rabenseifner and William Gropp, 2005. Trees, rings, and when each of them wins.
# - *Bringing HPC Techniques to Deep Learning*: Andrew Gibiansky, 2017. How the ring came into deep learning.
# - *Point-to-point communication*: NVIDIA NCCL documentation.
