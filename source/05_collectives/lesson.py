# %% [markdown]
# # Talking between processes
#
# Training on several GPUs is several processes, one for each GPU, that compute by themselves and now and then exchange numbers. This lesson is about the exchange. When you have finished it you can
#
# - send a tensor from one process to another, and say when that blocks;
# - recognise a deadlock, say why it happened, and write exchanges that cannot deadlock;
# - broadcast in ⌈log₂ n⌉ rounds where the obvious way takes n − 1;
# - build the ring all-reduce, the algorithm behind most gradient averaging, and say how many bytes it sends and why that is so few.
#
# **Time:** about two hours, 80 minutes of it for the four exercises. **Needs:** Python and PyTorch tensors. A CPU is enough: every "GPU" here is a real process of its own, and the same code runs on GPUs when there are enough.
#
# An answer runs in fresh processes, not in this notebook. It sees what the next cell defines and what stands in its own cell, and nothing else.

# %% prelude

# %%
from autograder.check import check
from course.ranks import launch
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
draw_messages(run, "Bars: time spent inside a call. Arrow: the message.")
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
draw_messages(run, "pass_along")
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
# Three kinds of wrong, seen here with gloo. Equal sizes: the bits of an integer read as those of a float, and **no error**. Room for more than was sent: garbage in front, what was there before at the end, and **no error**. Room for less: the receiver is ended by an abort in C++, without a Python exception; in a training log you would only find the *other* rank, complaining that the connection was closed.
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
draw_messages(run, "Both in send, and nobody receives")
run

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
# How many messages travel at the same time in your order? If only one rank receives first, there is no deadlock, but the messages wait for each other in a chain, n − 1 long. If every second rank does, two or three rounds are enough at any n. Change the number of ranks and look:


# %%
def exchange_my_rank():
    x = torch.full((4,), dist.get_rank(), device=device())
    dist.barrier()
    return exchange(x).tolist()


run = launch(exchange_my_rank, 5, backend="gloo")
draw_messages(run, "exchange, 5 ranks")
run

# %% [markdown]
# ### In production: two V100s that stop
#
# The two-rank swap is no textbook invention. It was reported to NCCL from a training job on two V100s ([NVIDIA/nccl issue 479](https://github.com/NVIDIA/nccl/issues/479)): both ranks send, both ranks receive, both GPUs hang. The maintainers' answer was to put the two calls into one group, so that they become a single operation that sends and receives. In PyTorch that is `dist.batch_isend_irecv`. Pipeline parallelism, where each GPU hands its output to the next and gets gradients back, is full of such pairs.
#
# What makes these bugs expensive is that they can hide. Where small messages are copied aside, the program runs in every test, and stops on the day the tensors grow. Gloo, which waits even for 16 bytes, is the better place to test: a deadlock that is possible *happens*.

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
figure = draw_ring_plan(4)

# %% [markdown]
# Each square is a chunk, with the ranks whose numbers are in it; green ones are complete. The arrows show what is sent next, always one rank further (from the last to rank 0). Follow chunk 0: it leaves rank 0, collects the numbers of ranks 1 and 2, and is complete when it reaches rank 3. On its second way round it overwrites.
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

# %% [markdown]
# ### Sending and receiving at once
#
# In every step of the ring all ranks send *and* receive. With blocking calls you would have to order them, as in `exchange`, and half of the ranks would wait. `dist.isend(tensor, dst)` (i for immediate) starts a send, and returns a **handle** without waiting; `handle.wait()` blocks until the tensor may be used again.


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
# Between `isend` and `wait` the tensor belongs to the library. Whoever writes into it then sends the old numbers, the new ones, or some of each. Likewise, what `irecv` fills may be read only after its `wait`. And a handle that nobody waits on says nothing at all.

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
# All ranks send and receive at the same time, and 24 messages travel between four ranks. How many bytes did each of them send?


# %%
def reduce_a_million():
    x = torch.ones(1_000_000, device=device())
    dist.barrier()
    return ring_all_reduce(x)[:3].tolist()


run = launch(reduce_a_million, 4, backend="gloo")
for outcome in run:
    sent = sum(call.bytes for call in outcome.calls if call.op in ("send", "isend"))
    print(f"rank {outcome.rank} sent {sent:,} bytes: {sent / 4_000_000:.2f} × the tensor")
draw_messages(run, "ring_all_reduce, 4 MB on 4 ranks")
run

# %% [markdown]
# ## Measure it
#
# How long does an all-reduce take, and what does that depend on? The next cell measures PyTorch's on this machine, and yours beside it, from a few bytes to 16 MB.

# %%
import matplotlib.pyplot as plt

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


figure, axes = plt.subplots(figsize=(8, 4))
for name, all_reduce in (
    ("dist.all_reduce", dist.all_reduce),
    ("ring_all_reduce", ring_all_reduce),
):
    run = launch(time_all_reduce, 4, all_reduce, SIZES)
    if run.ok:
        seconds = [max(times) for times in zip(*run.values)]  # the slowest rank counts
        axes.loglog([4 * size for size in SIZES], seconds, "o-", label=name)
axes.set(xlabel="bytes", ylabel="seconds", title="All-reduce on 4 ranks, on this machine")
axes.grid(alpha=0.3)
legend = axes.legend()

# %% [markdown]
# The curve has two parts. On the left it is nearly flat: 16 bytes take about as long as 1,000, since what costs is to have messages at all. That time is the **latency**. On the right the time grows with the size: there the **bandwidth** counts, the bytes per second.
#
# **A question for your own figures:** from which size on does four times the size take about four times as long? A model with many small parameter tensors lies to the left of that size, and that is why DDP packs gradients into *buckets* of 25 MB before it reduces them.
#
# ### In production: from 30 % to 10 %
#
# An 8-GPU job spent 30 % of each step in all-reduce. After some work it was 10 %. The story is often told as "use NCCL's all-reduce instead", but that cannot be the reason: on GPUs, PyTorch's `all_reduce` *is* NCCL's. What brings such a share down is
#
# - **topology**: which GPUs are neighbours in the ring, and whether their messages go over NVLink or through the CPU;
# - **overlap**: to start reducing the last layers' gradients while the first layers' are still being computed, so that the step no longer waits for all of it.
#
# Nor is it always a ring. NCCL has several algorithms, rings and trees among them, and chooses by message size, number of GPUs and topology: a ring moves the fewest bytes, but needs 2(n − 1) steps one after the other, and for small tensors on many GPUs, latency counts.
#
# And what did the job gain? If communication was 30 % of a step and the other 70 % stayed as they were, the new step takes 70 / 0.9 ≈ 78 % of the time: 1.29 times as fast. To know the share is to know what there is to win.

# %% [markdown]
# ## Recap
#
# 1. A message is bytes: both sides must agree on shape and dtype, and often nothing checks that they do.
# 2. `send` may block until the receive is there; a circle of ranks that wait for each other is a deadlock. Break it by order, by `isend` and `wait`, or with a collective.
# 3. Between `isend` or `irecv` and `wait`, the buffer belongs to the library.
# 4. A tree broadcasts in ⌈log₂ n⌉ rounds, because everybody who has the data helps.
# 5. A ring all-reduce sends 2(n − 1)/n of the tensor from each rank, however many there are.
#
# ## Where to read on
#
# - *Distributed communication package, torch.distributed*: PyTorch documentation.
# - *Writing Distributed Applications with PyTorch*: tutorial by Séb Arnold, in the PyTorch documentation.
# - *Bandwidth optimal all-reduce algorithms for clusters of workstations*: Pitch Patarasuk and Xin Yuan, 2009. The ring, and the proof that it sends as little as possible.
# - *Optimization of Collective Communication Operations in MPICH*: Rajeev Thakur, Rolf Rabenseifner and William Gropp, 2005. Trees, rings, and when each of them wins.
# - *Bringing HPC Techniques to Deep Learning*: Andrew Gibiansky, 2017. How the ring came into deep learning.
# - *Point-to-point communication*: NVIDIA NCCL documentation.
