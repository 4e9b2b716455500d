# %% [markdown]
# # DistributedDataParallel from the inside
#
# In PyTorch, one line makes a training loop run on several GPUs: `model = DistributedDataParallel(model)`. In this lesson you build what that line does, piece by piece, until your own version trains like one big GPU and hides most of its communication. When you have finished it you can
#
# - say why the mean of the ranks' gradients is the gradient of the whole batch, and when it is not;
# - write DDP: equal models to begin with, hooks in the backward pass, buckets, overlap;
# - accumulate gradients over several batches without exchanging them each time, and train models of which some ranks use only a part;
# - share a data set among ranks, and report numbers that do not change with the number of GPUs;
# - spread the optimizer's state over the ranks (ZeRO, stage 1);
# - recognise four mistakes that cost people weeks, because nothing complains.
#
# **Time:** about five hours, four of them for the fifteen exercises. Good places to stop are before *torch's DDP* and before *The data*. **Needs:** PyTorch modules and autograd, and from lesson 05 what a rank and an all-reduce are. A CPU is enough: every "GPU" here is a real process of its own, and the same code runs on GPUs when there are enough.
#
# An answer runs in fresh processes, not in this notebook. It sees what the next cell defines and what stands in its own cell, and nothing else.

# %% prelude

# %%
import matplotlib.pyplot as plt

from autograder.check import check
from course.measure.timeline import COMMUNICATION, Link, Span, exposed, record, timeline
from course.ranks import launch
from course.widgets.ddp import draw_buckets, draw_state
from course.widgets.timeline import draw_timeline, show_buckets

# %% [markdown]
# ## Two ways to use several GPUs
#
# PyTorch has two. The older one, `nn.DataParallel`, is one process with a thread for each GPU. In every step it copies the model from a *home device* (`cuda:0`) to all others, cuts the batch into pieces, computes the pieces in parallel, gathers the outputs at home, computes the loss there, and adds up the gradients there. One line of code is enough, and it does work. But everything goes through one device, whose memory is full first; the threads share Python's one interpreter lock; and it ends at the edge of the machine. PyTorch's documentation recommends the other way even on a single machine.
#
# The other way is **DistributedDataParallel** (DDP): a process for each GPU. No device is special. Each process, or **rank**, has the whole model, an optimizer of its own, and its own part of every batch. They exchange one thing: gradients.
#
# | | DataParallel | DDP |
# |---|---|---|
# | who talks to whom | all with the home device | all with all, by all-reduce |
# | memory | the home device holds more | all hold the same |
# | with more GPUs | the home device's work grows | each rank's stays about the same |
# | communication | after the computation | during the computation |
#
# These are the four differences that everybody quotes. At the end of this lesson you will have put a measured number into each row.

# %% [markdown]
# ## The one equation
#
# Let the batch have n·m rows, and let rank r have m of them. The loss is a mean over rows, and the gradient of a mean is the mean of the gradients:
#
# $$\nabla \frac{1}{nm}\sum_{i=1}^{nm} \ell_i \;=\; \frac{1}{n}\sum_{r=1}^{n}\; \underbrace{\nabla \frac{1}{m}\sum_{i \in \text{rank } r} \ell_i}_{\text{what rank } r \text{ computes alone}}$$
#
# So each rank can compute its own gradient, and the *mean over the ranks* is the gradient of the whole batch. If all ranks begin with the same weights and take the same step, they end with the same weights, and the whole is one training run with a batch n times as large. See for yourself; the ranks' rows are cut from one batch.


# %%
def a_gradient(rows):
    model = nn.Linear(3, 1, bias=False).to(device())
    nn.init.ones_(model.weight)
    x = torch.arange(24.0, device=device()).sin().view(8, 3)[rows]
    F.mse_loss(model(x), x.sum(1, keepdim=True) * 2).backward()
    return model.weight.grad


def compare(sizes):
    ends = torch.tensor(sizes).cumsum(0).tolist()
    rank = dist.get_rank()
    own = a_gradient(slice(ends[rank] - sizes[rank], ends[rank]))
    print(f"rows: {sizes[rank]}, own gradient  {own.tolist()[0]}")
    dist.all_reduce(own)
    if rank == 0:
        print(f"mean over the ranks   {(own / len(sizes)).tolist()[0]}")
        print(f"of the whole batch    {a_gradient(slice(0, 8)).tolist()[0]}")


launch(compare, 4, [2, 2, 2, 2])

# %% [markdown]
# The last two lines agree, but for rounding: these are 32-bit numbers, of which only the first six or seven digits mean anything, and the sum was made in another order. Now give the ranks different numbers of rows:

# %%
launch(compare, 4, [5, 1, 1, 1])

# %% [markdown]
# They do not agree any more: a row on a rank with few rows counts for more. **The equation needs shards of equal size.** Keep that in mind; it will come back twice.

# %% [markdown]
# ## The same model on every rank
#
# Each rank makes the model by itself, and each draws its first weights from its own random numbers:


# %%
def first_weight():
    torch.manual_seed(100 + dist.get_rank())  # as different as in a real program without seeds
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    return model[0].weight[0, 0].item()


launch(first_weight, 4)

# %% [markdown]
# If you average the gradients of four different models, each takes the same steps from another place, and they stay four models for ever. The same seed everywhere helps only until somebody draws a number under `if rank == 0`. What always helps is to send one rank's model to all: a **broadcast**.
#
# A model is more than its trainable parameters. There are frozen ones; there are **buffers**, which belong to the model but are not trained, such as the running mean of a BatchNorm layer; and two layers may share one tensor (**tied weights**, usual between a language model's embedding and its output).

# %% [markdown] exercise broadcast_model
# Send rank 0's model to all ranks, *in place*: the parameters must stay the same objects, since an optimizer may already hold them. In the check, the ranks' models have nothing in common to begin with.


# %% answer broadcast_model
def broadcast_model(model: nn.Module) -> None:
    """Give all ranks rank 0's model: its parameters and its buffers, in place.

    Every tensor is sent once, also one that two layers share. Frozen parameters, buffers of
    integers and buffers that are not in the state dict belong to the model as well.

    Args:
        model: of the same structure on all ranks; its numbers may differ.
    """
    ### BEGIN SOLUTION
    with torch.no_grad():
        for tensor in (*model.parameters(), *model.buffers()):
            dist.broadcast(tensor, src=0)
    ### END SOLUTION


# %% check broadcast_model

# %% [markdown]
# torch's DDP does this when it wraps a model, so seeds that differ from rank to rank do no harm. Buffers it sends again at the beginning of every forward. Between one forward and the next, each rank's BatchNorm has seen other rows, and the buffers differ: that is no mistake. To evaluate or save a model, use rank 0's.

# %% [markdown]
# ## Averaging gradients
#
# Now the simplest DDP there can be: after backward, one all-reduce for each parameter.
#
# One thing to think about. A rank's gradient of a parameter may be missing: `param.grad` is None when the parameter took no part in this rank's loss. If that rank then leaves out its all-reduce, the others wait for it; or, worse, its *next* all-reduce meets their missing one, and the numbers of two parameters are added. Nothing complains: to the backend, both are 64 numbers. So which collectives a rank calls must never depend on what only this rank knows.

# %% [markdown] exercise average_gradients
# Write it: one `dist.all_reduce` for each trainable parameter. A shared weight is one parameter; frozen ones take no part.


# %% answer average_gradients
def average_gradients(model: nn.Module) -> None:
    """Replace every gradient by its mean over all ranks, with one all-reduce for each parameter.

    To be called after backward, by all ranks. Frozen parameters (requires_grad=False) are left
    out, on all ranks. A trainable parameter whose gradient is None on this rank counts as zeros:
    another rank may have one, and it is the number of ranks that divides.

    Args:
        model: the same on all ranks, each with the gradients of its own part of the batch.
    """
    ### BEGIN SOLUTION
    for param in model.parameters():
        if param.requires_grad:
            if param.grad is None:
                param.grad = torch.zeros_like(param)
            dist.all_reduce(param.grad)
            param.grad /= dist.get_world_size()
    ### END SOLUTION


# %% check average_gradients

# %% [markdown]
# With two functions you can train. The next cell takes five steps on 1, 2, 3 and 4 ranks, each time with the same 24 rows in every step, and compares the weights with those of a single process that sees all 24.

# %%
ROWS, STEPS = 24, 5


def build_model(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2)).double()


def batch(step):
    generator = torch.Generator().manual_seed(step)
    x = torch.randn(ROWS, 6, generator=generator, dtype=torch.float64)
    return x, x[:, :2] * x[:, 2:4]


def train_alone():
    model = build_model(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(STEPS):
        x, y = batch(step)
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
    return [p.detach() for p in model.parameters()]


def train_together(alone):
    rank, n = dist.get_rank(), dist.get_world_size()
    model = build_model(rank).to(device())  # another seed on every rank
    broadcast_model(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(STEPS):
        x, y = (part.chunk(n)[rank].to(device()) for part in batch(step))
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        average_gradients(model)
        optimizer.step()
    return max((p.cpu() - a).abs().max().item() for p, a in zip(model.parameters(), alone))


alone = launch(train_alone, 1)
for n in (1, 2, 3, 4):
    run = launch(train_together, n, alone.values[0])
    print(f"ranks: {n}, largest difference of any weight: {max(run.values):.1e}" if run.ok else run)

# %% [markdown]
# The differences are rounding: a sum of four numbers depends on their order in the last digit. This is the standard that all of this lesson's DDPs are held to.
#
# ### One message instead of many
#
# A message has a fixed cost, however small it is (lesson 05 measures it as *latency*). A transformer has hundreds of parameters, many of them small: biases, norms. Here are 200 tensors of 1,000 numbers each, and one of 200,000:


# %%
def time_it(sizes):
    tensors = [torch.ones(size, device=device()) for size in sizes]
    times = []
    for _ in range(6):
        dist.barrier()
        begin = time.perf_counter()
        for tensor in tensors:
            dist.all_reduce(tensor)
        if tensors[0].is_cuda:
            torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return min(times) * 1e3


for name, sizes in (("200 messages", [1000] * 200), ("1 message", [200_000])):
    run = launch(time_it, 4, sizes)
    print(f"{name:>12}: {max(run.values):6.1f} ms on this machine")

# %% [markdown] exercise average_gradients_flat
# Put all gradients into one flat tensor, reduce that, and give each parameter its piece back.


# %% answer average_gradients_flat
def average_gradients_flat(model: nn.Module) -> None:
    """As average_gradients, with a single all-reduce for the whole model.

    Args:
        model: the same on all ranks; all its parameters are of one dtype.
    """
    ### BEGIN SOLUTION
    params = [param for param in model.parameters() if param.requires_grad]
    grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in params]
    flat = torch.cat([grad.flatten() for grad in grads])
    dist.all_reduce(flat)
    flat /= dist.get_world_size()
    for param, piece in zip(params, flat.split([param.numel() for param in params])):
        param.grad = piece.view_as(param)
    ### END SOLUTION


# %% check average_gradients_flat

# %% [markdown]
# ## Overlap
#
# The flat version has the fewest messages, and still wastes time: it begins when backward has ended. While the network works the processor is idle, and before that it is the other way round. But backward computes gradients *one after the other*, from the last layer to the first. The last layer's is ready long before the first layer's, and could be on its way.
#
# To see this we need a network. The ranks of one machine are joined by its memory, and on a CPU the exchange costs the very cores that compute. So the next cells *pretend* to have a link with 1 ms of latency and 200 MB/s: every collective is really made, and then counts as finished only when it would have been over such a link. `record(model, link)` notes when each layer computed, and when each collective had the link.

# %%
LINK = Link(latency=1e-3, bytes_per_second=200e6)


def deep_model(width=384, layers=5):
    return nn.Sequential(*[nn.Linear(width, width) for _ in range(layers)])


def record_a_step(make_exchange):
    """One step, after one to warm up. make_exchange(model): a model to call, and what follows backward."""
    torch.manual_seed(dist.get_rank())
    model = deep_model()
    x, y = torch.randn(256, 384), torch.randn(256, 384)
    ddp, exchange = make_exchange(model)

    def step():
        F.mse_loss(ddp(x), y).backward()
        exchange()
        model.zero_grad()

    step()
    dist.barrier()
    with record(model, LINK) as recording:
        step()
    return recording.spans()


def after_backward(model):
    return model, lambda: average_gradients_flat(model)


run = launch(record_a_step, 2, after_backward, backend="gloo")
if run.ok:
    display(draw_timeline(timeline(run), "average_gradients_flat: the exchange follows backward"))
run if not run.ok else None

# %% [markdown]
# Numbers in the bars are layers: backward runs from 4 to 0. An orange bar is the time that one message takes the link. It begins when the *last* rank has called the all-reduce and the link is free, and so it is the same on all ranks: none can be done before all have begun. A rank that called earlier waits; that is the white space before the bar. The text at the right says how long messages were on the link while this rank computed nothing.
#
# PyTorch tells you when a gradient is complete: `param.register_post_accumulate_grad_hook(hook)` has autograd call `hook(param)` inside `backward()`, as soon as `param.grad` is final. For a shared weight, that is once, after all its uses.
#
# And a collective need not be waited for at once: `work = dist.all_reduce(tensor, async_op=True)` starts it and comes back with a handle. Until `work.wait()` the tensor belongs to the library: it must be neither read nor written.

# %% [markdown] exercise OverlappedDDP
# Write a module that wraps a model and starts each gradient's all-reduce the moment that it is ready. Training looks like this:
#
# ```python
# ddp = OverlappedDDP(model)
# loss_function(ddp(x), y).backward()   # all-reduces are started in here
# ddp.finish()                          # and waited for in here
# optimizer.step()
# ```
#
# The check trains five steps on 1 to 4 ranks, whose models differ to begin with, with frozen, tied and unused layers and buffers; compares all weights after every step with one process; and looks into the log of your calls: was something on its way before backward had reached the first layer? In some steps one rank comes late, so that who does not wait is found out.


# %% answer OverlappedDDP
class OverlappedDDP(nn.Module):
    """A model whose gradients are averaged over all ranks, each as soon as it is ready.

    ddp = OverlappedDDP(model)
    loss_function(ddp(x), y).backward()
    ddp.finish()
    optimizer.step()

    In a step, all ranks use the same parameters; some may be used by no rank.
    """

    def __init__(self, module: nn.Module) -> None:
        """Keep the module, with rank 0's parameters and buffers on all ranks.

        Its parameters stay the objects that they are: an optimizer may hold them already.
        """
        super().__init__()
        ### BEGIN SOLUTION
        self.module = module
        self._started = []
        for tensor in (*module.parameters(), *module.buffers()):
            dist.broadcast(tensor.detach(), src=0)
        for param in module.parameters():
            if param.requires_grad:
                param.register_post_accumulate_grad_hook(self._start)
        ### END SOLUTION

    def forward(self, *args, **kwargs):
        """What the module itself returns."""
        ### BEGIN SOLUTION
        return self.module(*args, **kwargs)

    def _start(self, param):
        work = dist.all_reduce(param.grad, async_op=True)
        self._started.append((work, param))
        ### END SOLUTION

    def finish(self) -> None:
        """Come back when every gradient is the mean over all ranks."""
        ### BEGIN SOLUTION
        for work, param in self._started:
            work.wait()
            param.grad /= dist.get_world_size()
        self._started.clear()
        ### END SOLUTION


# %% check OverlappedDDP


# %%
def overlapped(model):
    ddp = OverlappedDDP(model)
    return ddp, ddp.finish


run = launch(record_a_step, 2, overlapped, backend="gloo")
if run.ok:
    display(draw_timeline(timeline(run), "OverlappedDDP: each gradient leaves when it is ready"))
run if not run.ok else None

# %% [markdown]
# The exchange begins with the last layer's gradients and runs below the rest of backward. But look at the narrow orange bars: each is a bias of 384 numbers, and nearly all of it is latency. Ten messages pay ten times 1 ms.

# %% [markdown]
# ## Buckets
#
# Many small messages pay the latency many times. One large message pays once and cannot begin before the end. In between are **buckets**: gradients are collected in groups of a certain size, in the order in which backward makes them, and each group leaves when it is complete: when all its gradients are there. torch's DDP uses 25 MB (and a smaller first bucket, so that the network starts early).
#
# Here is a model with layers a to e, of 2, 2, 8, 4 and 2 MB. In backward the order is e, d, c, b, a. With a limit of 8 MB the buckets are

# %%
draw_buckets([("a", 2), ("b", 2), ("c", 8), ("d", 4), ("e", 2)], limit=8)

# %% [markdown]
# Three things make it hard.
#
# - A bucket may hold a parameter that gets no gradient in this step. Then it never becomes complete by itself, and `finish()` must send it, with zeros in the gradient's place.
# - Ranks that use different parts of the model complete their buckets in different orders. Started in that order, bucket 1 of one rank would meet bucket 2 of another, and as long as the two are of one size, nothing complains. So a bucket is started only when all buckets before it have been: a complete bucket waits for an incomplete one. torch's DDP does it like that, too.
# - What is counted in one step must be set back for the next.

# %% [markdown] exercise BucketedDDP
# Write it. The check counts the messages of every step and their bytes, and knows what the buckets must be: filled in the reverse order of `module.parameters()`, and never above the limit unless a single parameter is.


# %% answer BucketedDDP
class BucketedDDP(nn.Module):
    """As OverlappedDDP, with the gradients of several parameters in one all-reduce.

    Buckets are filled with the trainable parameters in reverse order of module.parameters(). A
    parameter that would bring a bucket above bucket_mb begins the next bucket; one that is larger
    than bucket_mb by itself has a bucket of its own.

    Buckets are started in the order in which they were filled, on every rank: the next one when
    all its gradients are there, and by finish() what is left. A parameter without a gradient on
    this rank counts as zeros. One that no rank used may have None or zeros afterwards.
    """

    def __init__(self, module: nn.Module, bucket_mb: float = 25.0) -> None:
        """Keep the module, with rank 0's parameters and buffers on all ranks.

        Args:
            module: its parameters are of one dtype. In a step, some may get a gradient on no
                rank, or on some ranks only.
            bucket_mb: the limit of a bucket, in MB of 1024 × 1024 bytes.
        """
        super().__init__()
        ### BEGIN SOLUTION
        self.module = module
        for tensor in (*module.parameters(), *module.buffers()):
            dist.broadcast(tensor.detach(), src=0)
        self._buckets = self._fill(bucket_mb * 2**20)
        self._bucket_of = {p: i for i, bucket in enumerate(self._buckets) for p in bucket}
        for param in self._bucket_of:
            param.register_post_accumulate_grad_hook(self._ready)
        self._reset()

    def _fill(self, limit):
        buckets, filled = [], math.inf
        for param in reversed([p for p in self.module.parameters() if p.requires_grad]):
            size = param.numel() * param.element_size()
            if filled + size > limit:
                buckets.append([])
                filled = 0
            buckets[-1].append(param)
            filled += size
        return buckets

    def _reset(self):
        self._missing = [len(bucket) for bucket in self._buckets]
        self._started = []

    def _ready(self, param):
        self._missing[self._bucket_of[param]] -= 1
        while len(self._started) < len(self._buckets) and not self._missing[len(self._started)]:
            self._start_next()

    def _start_next(self):
        bucket = self._buckets[len(self._started)]
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in bucket]
        flat = torch.cat([grad.flatten() for grad in grads])
        self._started.append((flat, dist.all_reduce(flat, async_op=True)))
        ### END SOLUTION

    def forward(self, *args, **kwargs):
        """What the module itself returns."""
        ### BEGIN SOLUTION
        return self.module(*args, **kwargs)
        ### END SOLUTION

    def finish(self) -> None:
        """Come back when every gradient is the mean over all ranks."""
        ### BEGIN SOLUTION
        while len(self._started) < len(self._buckets):
            self._start_next()
        for bucket, (flat, work) in zip(self._buckets, self._started):
            work.wait()
            flat /= dist.get_world_size()
            for param, piece in zip(bucket, flat.split([p.numel() for p in bucket])):
                param.grad = piece.view_as(param)
        self._reset()
        ### END SOLUTION


# %% check BucketedDDP

# %% [markdown]
# ### Measure it: which bucket size?
#
# The same model and the same pretended link. Move the bucket size: how many messages are there, and when does the first one leave? Then switch overlap off: the same messages, but none takes the link before `finish()` waits for it. Each change trains on real ranks, and the fastest of six steps is drawn.

# %%
show_buckets(BucketedDDP)

# %% [markdown]
# The words below the picture give two times: how long gradients were on the link, and how long nothing was computed meanwhile. Overlap does not change the first, which is the same number of messages and bytes; it hides it behind computation. On a machine with few free cores, the time of the whole step also differs from try to try: compare several.
#
# Now all sizes in one plot, from 0.1 to 10 MB. (As for `bucket_mb`, a MB is 1024 × 1024 bytes here, and the whole model has 2.8 of them. The link's 200 MB/s are of 1,000,000 bytes, as networks are measured.)

# %%
SIZES = [0.1, 0.3, 0.6, 1.2, 2.4, 10]


def step_time(bucket_mb):
    torch.manual_seed(dist.get_rank())
    model = deep_model()
    ddp = BucketedDDP(model, bucket_mb)
    x, y = torch.randn(256, 384), torch.randn(256, 384)
    times = []
    with record(model, LINK):
        for _ in range(15):
            dist.barrier()
            begin = time.perf_counter()
            F.mse_loss(ddp(x), y).backward()
            ddp.finish()
            times.append(time.perf_counter() - begin)
            model.zero_grad()
    return min(times) * 1e3


runs = [launch(step_time, 2, size, backend="gloo") for size in SIZES]
if all(run.ok for run in runs):
    times = [max(run.values) for run in runs]
    figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
    axes.semilogx(SIZES, times, "o-")
    axes.set_xticks(SIZES, [f"{size:g}" for size in SIZES], minor=False)
    axes.minorticks_off()
    axes.set(
        xlabel="bucket_mb (MB of 1024 × 1024 bytes)",
        ylabel="milliseconds for one step",
        ylim=(0, 1.15 * max(times)),
        title="The best of 15 steps on 2 ranks",
    )
    axes.grid(alpha=0.3)
else:
    print(runs[0])

# %% [markdown]
# **A question for your own figures:** where is your minimum, and what do you lose at both ends? At the left it is latency, ten times instead of once; at the right it is overlap, since one message can leave only when backward has ended. Set `LINK` to a latency of 5 ms, run again, and see which way the minimum moves. The numbers are this machine's and this pretended link's. Where the ranks have few free cores, the curve is uneven, and the two losses are what you can rely on: each of them can be read off the timeline above.

# %% [markdown]
# ## torch's DDP
#
# You have built the core of `torch.nn.parallel.DistributedDataParallel`. What it does, and when:
#
# - *When it is made*: rank 0's parameters and buffers go to all. It looks at the parameters, registers hooks, plans the buckets. It does not look again.
# - *In its forward*: buffers are sent again (unless `broadcast_buffers=False`), and it prepares for the backward that will follow: whether that is to exchange gradients, and, with `find_unused_parameters=True`, for which parameters there will be none.
# - *In backward*: buckets, overlap, the mean. When `backward()` comes back, the exchange is done; there is no `finish()`.
#
# Its all-reduces are made in C++. The model inside is `ddp.module`, and `ddp.state_dict()` has `module.` before every name. On a GPU you write `DDP(model, device_ids=[local_rank])`, or nothing at all if the model is there already; on a CPU, `device_ids` is an error.
#
# The next two stories are about "in its forward" and "it does not look again".

# %% [markdown]
# ### In production: the GPUs that went their own ways
#
# A model had a method `loss(x, y)`. After wrapping, `ddp.loss(x, y)` failed: a DDP has no such method. So somebody wrote `ddp.module.loss(x, y)`, and everything ran. The loss fell, too. Months later somebody compared the ranks: each had trained a model of its own, on its part of the data, and only rank 0's was ever saved. (The case is public: [minimind issue 853](https://github.com/jingyaogong/minimind/issues/853).)


# %%
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, 3)

    def forward(self, x):
        return self.layer(x)

    def loss(self, x, y):
        return F.mse_loss(self(x), y)


def training_step(ddp, optimizer, x, y):
    optimizer.zero_grad()
    loss = ddp.module.loss(x, y)
    loss.backward()
    optimizer.step()
    return loss.item()


def watch_them_part(step):
    torch.manual_seed(dist.get_rank())
    ddp = DDP(Model().to(device()))
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
    for number in range(3):
        step(ddp, optimizer, torch.randn(4, 5, device=device()), torch.ones(4, 3, device=device()))
        print(f"after step {number + 1}: first weight {ddp.module.layer.weight[0, 0].item():.4f}")


launch(watch_them_part, 2, training_step)

# %% [markdown] exercise training_step_fixed
# Write the step so that gradients are averaged. `watch_them_part(training_step_fixed)` shows whether the ranks stay together.


# %% answer training_step_fixed
def training_step_fixed(
    ddp: DDP, optimizer: torch.optim.Optimizer, x: torch.Tensor, y: torch.Tensor
) -> float:
    """Take one step on the mean squared error, with gradients averaged over all ranks.

    Args:
        ddp: a model wrapped by DDP. ddp(x) is its output.

    Returns:
        The loss of this rank's rows, before the step.
    """
    ### BEGIN SOLUTION
    optimizer.zero_grad()
    loss = F.mse_loss(ddp(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()
    ### END SOLUTION


# %% check training_step_fixed

# %%
launch(watch_them_part, 2, training_step_fixed)

# %% [markdown]
# ### In production: the head that nobody averaged
#
# Fine-tuning for another number of classes: the last layer of a trained model is replaced.


# %%
class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(5, 6)
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        return self.head(torch.tanh(self.backbone(x)))


def replace_head(model, outputs):
    ddp = DDP(model)
    ddp.module.head = nn.Linear(model.head.in_features, outputs, device=model.head.weight.device)
    return ddp


def train_the_head(replace):
    torch.manual_seed(dist.get_rank())
    ddp = replace(Classifier().to(device()), 4)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
    for step in range(2):
        optimizer.zero_grad()
        F.mse_loss(
            ddp(torch.randn(4, 5, device=device())), torch.ones(4, 4, device=device())
        ).backward()
        optimizer.step()
        print(
            f"after step {step + 1}: first weight of the head {ddp.module.head.weight[0, 0].item():.4f}"
        )


launch(train_the_head, 2, replace_head)

# %% [markdown]
# The first step is silently wrong on every rank. In the second, DDP misses gradients of the head that is no longer there, and complains about something that nobody would connect with the cause. Where *all* that was replaced is one tensor among others, or `find_unused_parameters` is set, it may not even do that.

# %% [markdown] exercise replace_head_fixed
# Write it right.


# %% answer replace_head_fixed
def replace_head_fixed(model: nn.Module, outputs: int) -> DDP:
    """Give the model a new head with so many outputs, and return it wrapped by DDP.

    Args:
        model: of float32, on this rank's device(). model.head is an nn.Linear with a bias; the rest
            of the model is kept.
    """
    ### BEGIN SOLUTION
    model.head = nn.Linear(model.head.in_features, outputs, device=model.head.weight.device)
    return DDP(model)
    ### END SOLUTION


# %% check replace_head_fixed

# %% [markdown]
# The same happens with everything that makes new parameters: converting BatchNorm layers to SyncBatchNorm, adding adapters, or moving the model with `.to(...)` in a way that creates new tensors. *Edit first, wrap last.*

# %% [markdown]
# ## Accumulation
#
# A batch that does not fit into memory is cut into k **micro-batches**; backward *adds* to `param.grad`, so that after k of them the sum is there. With DDP as it is, each of the k backward passes exchanges gradients, and k − 1 of these exchanges are for nothing.
#
# `with ddp.no_sync():` tells DDP not to. But when does it look? The next cell counts the all-reduces of four micro-batches, for three ways to write it. A **comm hook** is a function of yours that DDP calls in place of its own all-reduce; here it counts and then does the same.


# %%
def count_exchanges(where):
    torch.manual_seed(0)
    ddp = DDP(nn.Linear(4, 1).to(device()))
    count = 0

    def counting_all_reduce(_, bucket):
        nonlocal count
        count += 1
        future = dist.all_reduce(
            bucket.buffer() / dist.get_world_size(), async_op=True
        ).get_future()
        return future.then(lambda f: f.value()[0])

    ddp.register_comm_hook(None, counting_all_reduce)
    for micro_batch in range(4):
        x = torch.full((2, 4), 1.0 + dist.get_rank(), device=device())
        quiet = ddp.no_sync() if micro_batch < 3 else contextlib.nullcontext()
        nothing = contextlib.nullcontext()
        with quiet if "forward" in where else nothing:
            loss = ddp(x).sum()
        with quiet if where == "backward" else nothing:
            loss.backward()
    return count


for where in ("nowhere", "backward", "forward and backward"):
    run = launch(count_exchanges, 2, where)
    print(f"no_sync around {where}, exchanges: {run.values[0]}" if run.ok else run)

# %% [markdown]
# Around backward alone, it changes nothing: DDP decides **in forward**. The gradient is right all the same, so nobody notices but the clock. The opposite mistake, to have the last micro-batch inside as well, exchanges nothing at all, and the ranks part.
#
# And the loss must be weighted. Each micro-batch's loss is a mean over *its* rows; the sum of k means is not the mean.

# %% [markdown] exercise no_sync
# Write the accumulation. The last micro-batch may be smaller than the others. The check counts exchanges, and looks whether each micro-batch has its backward before the next one's forward: that is what saves memory.


# %% answer no_sync
def no_sync(ddp: DDP, micro_batches: list, loss_function) -> None:
    """Leave in the parameters' gradients those of the mean loss over all rows of all ranks.

    The batch comes in micro-batches, one after the other; their activations do not fit into
    memory together. Gradients are exchanged once, whatever the number of micro-batches.

    Args:
        ddp: torch's DistributedDataParallel; its gradients are None or zero.
        micro_batches: pairs (x, y), at least one. Their numbers of rows may differ from each
            other, but not from rank to rank.
        loss_function: loss_function(ddp(x), y) is the mean loss over the rows of x.
    """
    ### BEGIN SOLUTION
    rows = sum(len(x) for x, _ in micro_batches)
    for i, (x, y) in enumerate(micro_batches):
        last = i == len(micro_batches) - 1
        with contextlib.nullcontext() if last else ddp.no_sync():
            loss = loss_function(ddp(x), y) * (len(x) / rows)
            loss.backward()
    ### END SOLUTION


# %% check no_sync

# %% [markdown]
# ## Parameters that not every rank uses
#
# Mixtures of experts, optional heads, layers dropped at random: in one step a branch is taken on some ranks only. On a rank that did not take it there is no gradient, no hook is called, its bucket never fills. torch's DDP then says *Expected to have finished reduction in the prior iteration*, in the next forward. With `find_unused_parameters=True` it walks through the graph in every forward, marks what will get no gradient as ready, and has the ranks tell each other what was used.
#
# Why tell each other? Because there are three cases, and a rank can tell only two of them apart:
#
# | used by | gradient afterwards |
# |---|---|
# | this rank, or another | the mean over *all* ranks, with zeros from those that did not |
# | no rank | None: the optimizer must leave it alone |
#
# Zeros are not nothing: weight decay shrinks a parameter with a gradient of zeros, and momentum goes on moving it.

# %% [markdown] exercise unused_parameters
# Average gradients where some ranks have none, and name the parameters that nobody used. All ranks must come to the same conclusion, and to the same collectives.


# %% answer unused_parameters
def unused_parameters(model: nn.Module) -> list[str]:
    """Average the gradients over all ranks, and name the parameters that no rank used.

    To be called after backward, by all ranks. A trainable parameter without a gradient (None) was
    not used on this rank. If some rank used it, all ranks get the mean over all ranks, in which
    None counts as zeros. If no rank did, it keeps None on all ranks.

    Args:
        model: the same on all ranks.

    Returns:
        The names of the trainable parameters that no rank used: the same on every rank.
    """
    ### BEGIN SOLUTION
    trained = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    users = torch.tensor(
        [float(p.grad is not None) for _, p in trained], device=trained[0][1].device
    )
    dist.all_reduce(users)
    nobody = []
    for (name, param), count in zip(trained, users.tolist()):
        if count == 0:
            nobody.append(name)
            continue
        if param.grad is None:
            param.grad = torch.zeros_like(param)
        dist.all_reduce(param.grad)
        param.grad /= dist.get_world_size()
    return nobody
    ### END SOLUTION


# %% check unused_parameters

# %% [markdown]
# ## The data
#
# The other half of data parallelism: every rank its own rows. If all ranks read the same, n GPUs do the work of one, and the loss falls just as it should.
#
# A **sampler** gives a `DataLoader` the indices to load. A distributed one gives each rank its part. The parts must be equally long, for two reasons: the equation at the beginning, and the number of steps. A rank with one batch more waits in an all-reduce to which nobody comes:


# %%
def one_batch_more():
    ddp = DDP(nn.Linear(2, 1).to(device()))
    for _ in range(3 if dist.get_rank() == 0 else 2):
        ddp(torch.ones(1, 2, device=device())).sum().backward()


launch(one_batch_more, 2, timeout=6)

# %% [markdown]
# Rank 1 has returned, and rank 0 is still in its third step, in an all-reduce of DDP's. DDP calls it in C++, so the log of calls does not have it: all that can be seen is the line where rank 0 stands, and who has returned. Lesson 05 has more on ranks that wait for each other. So when n does not divide the number of samples, some are used twice, or the last ones left out.
#
# And every epoch must have another order, the *same one on all ranks*: if each shuffled by itself, the parts would overlap. The usual way is a generator whose seed is `seed + epoch`, and a call that tells the sampler the epoch.

# %% [markdown] exercise DistributedSampler
# Write the sampler. It must also work with fewer samples than ranks, and must not touch torch's own random state: dropout draws from that, and should not draw the same on all ranks.


# %% answer DistributedSampler
class DistributedSampler(Sampler):
    """Gives each rank its own part of the data set's indices; a DataLoader takes it as sampler.

    In each epoch all ranks make the same order of the whole data set, and each takes a part of
    it. All parts have the same length: the order is padded to a multiple of the number of ranks
    with samples from its beginning, or, with drop_last, cut to one.
    """

    def __init__(self, dataset, shuffle: bool = True, seed: int = 0, drop_last: bool = False):
        """
        Args:
            dataset: only its length matters. It may be smaller than the number of ranks.
            shuffle: whether the order is random; it depends on seed and epoch, and on nothing else.
            seed: the same on all ranks.
            drop_last: leave out the last samples of the order, instead of padding.
        """
        ### BEGIN SOLUTION
        self.dataset, self.shuffle, self.seed, self.drop_last = dataset, shuffle, seed, drop_last
        self.epoch = 0
        ### END SOLUTION

    def set_epoch(self, epoch: int) -> None:
        """To be called before each epoch; until then it is epoch 0."""
        ### BEGIN SOLUTION
        self.epoch = epoch
        ### END SOLUTION

    def __iter__(self):
        """The indices of this rank, in this epoch."""
        ### BEGIN SOLUTION
        size, ranks = len(self.dataset), dist.get_world_size()
        order = list(range(size))
        if self.shuffle:
            generator = torch.Generator().manual_seed(self.seed + self.epoch)
            order = torch.randperm(size, generator=generator).tolist()
        total = len(self) * ranks
        order = (order * ranks)[:total]  # repeated where it is too short, cut where too long
        return iter(order[dist.get_rank() :: ranks])
        ### END SOLUTION

    def __len__(self) -> int:
        """How many indices this rank gets in an epoch."""
        ### BEGIN SOLUTION
        size, ranks = len(self.dataset), dist.get_world_size()
        return size // ranks if self.drop_last else math.ceil(size / ranks)
        ### END SOLUTION


# %% check DistributedSampler


# %%
def show_parts(epochs):
    sampler = DistributedSampler(range(10))
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        print(f"epoch {epoch}: {list(sampler)}")


launch(show_parts, 3, 2)

# %% [markdown]
# Ten samples on three ranks: count how often each appears.
#
# ### In production: shuffled once
#
# torch's `DistributedSampler` works as yours does, and a common mistake comes from that. Nothing is missing in this loop, or so it seems:


# %%
def epoch_batches(dataset, batch_size, epochs):
    sampler = torch.utils.data.DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size, sampler=sampler)
    return [list(loader) for epoch in range(epochs)]


def show_batches(make):
    for epoch, batches in enumerate(make(torch.arange(12), 3, 3)):
        print(f"epoch {epoch}: {[batch.tolist() for batch in batches]}")


launch(show_batches, 2, epoch_batches)

# %% [markdown] exercise epoch_batches_fixed
# Every epoch should have another order.


# %% answer epoch_batches_fixed
def epoch_batches_fixed(dataset, batch_size: int, epochs: int) -> list[list[torch.Tensor]]:
    """Return this rank's batches of each epoch, from a data set that is shuffled in every epoch.

    Returns:
        One list for each epoch, of the batches that this rank's DataLoader gives.
    """
    ### BEGIN SOLUTION
    sampler = torch.utils.data.DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size, sampler=sampler)
    result = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        result.append(list(loader))
    return result
    ### END SOLUTION


# %% check epoch_batches_fixed

# %% [markdown]
# ## Numbers about all ranks
#
# The accuracy of the whole test set, the mean loss of an epoch: each rank knows a part. Two things go wrong so often that published numbers have been wrong by them.
#
# - **Mean of means.** Rank 0 has 7 rows and a mean of 1, rank 1 has 2 rows and a mean of 10. The mean over all is (7 · 1 + 2 · 10) / 9 = 3, not 5.5. *Reduce sums and counts, and divide once.*
# - **Padding.** A sampler that makes the parts equally long gives some samples to two ranks. In training that hardly matters. In a test, the result depends on the number of GPUs.


# %%
def test_set_of_ten():
    sampler = torch.utils.data.DistributedSampler(range(10), shuffle=False)
    indices = list(sampler)
    print(f"indices {indices}")
    total = torch.tensor([float(sum(indices)), len(indices)], device=device())
    dist.all_reduce(total)
    return (total[0] / total[1]).item()


print(f"The mean of 0 to 9 is {sum(range(10)) / 10}; according to 3 ranks it is:")
launch(test_set_of_ten, 3)

# %% [markdown] exercise global_metric
# Each rank has results for some samples, and knows which samples they are. Compute the mean over the whole set, each sample once. A rank may have no samples at all.


# %% answer global_metric
def global_metric(values: torch.Tensor, indices: torch.Tensor, size: int) -> float:
    """Return the mean over the whole data set, each sample counted once, on every rank.

    Args:
        values: this rank's result for each of its samples, float64, of shape (k,). k may differ
            from rank to rank, and be 0.
        indices: which samples they are, int64, of shape (k,). To make the parts equally long, a
            sampler may have given some samples to two ranks; their values are the same on both.
        size: the number of samples of the data set; each is on some rank.
    """
    ### BEGIN SOLUTION
    total = torch.zeros(size, dtype=values.dtype, device=values.device)
    seen = torch.zeros_like(total)
    total[indices] = values
    seen[indices] = 1
    dist.all_reduce(total)
    dist.all_reduce(seen)
    return (total / seen).mean().item()
    ### END SOLUTION


# %% check global_metric

# %% [markdown]
# ### In production: the loss that changed with the number of GPUs
#
# A validation loss was 1.24 on one GPU and 1.31 on eight, with the same weights and the same data. Which is right? Neither. Here is the function, with its mistake on a small scale:


# %%
def validation_loss(model, batches):
    losses = [F.mse_loss(model(x), y).item() for x, y in batches]
    mean = torch.tensor(sum(losses) / len(losses), device=device())
    dist.all_reduce(mean)
    return mean.item() / dist.get_world_size()


def same_rows(evaluate):
    x = torch.arange(9.0, device=device()).view(9, 1)  # the model returns x, the loss is x²
    mine = x.tensor_split(dist.get_world_size())[dist.get_rank()]
    batches = [(rows, torch.zeros_like(rows)) for rows in mine.split(4)]
    return evaluate(nn.Identity(), batches)


print(f"right: {sum(i * i for i in range(9)) / 9:.4f}")
for n in (1, 2, 4):
    run = launch(same_rows, n, validation_loss)
    print(f"ranks: {n}, the same 9 rows: {run.values[0]:.4f}" if run.ok else run)

# %% [markdown]
# It is wrong on one rank already: nine rows make batches of 4, 4 and 1, and the one row of the last batch, which has the largest loss, counts as much as four of another.

# %% [markdown] exercise validation_loss_fixed
# Write it so that the number of ranks does not matter. Ranks may have different numbers of batches, or none.


# %% answer validation_loss_fixed
def validation_loss_fixed(model: nn.Module, batches: list) -> float:
    """Return the mean squared error over all rows of all ranks, on every rank.

    Args:
        model: the same on all ranks, not wrapped.
        batches: this rank's pairs (x, y). Ranks may have different numbers of batches, or none;
            batches may have different numbers of rows.
    """
    ### BEGIN SOLUTION
    total = torch.zeros(2, dtype=torch.float64, device=device())  # sum of losses, rows
    with torch.no_grad():
        for x, y in batches:
            loss = F.mse_loss(model(x), y)
            total += torch.tensor([loss.item() * len(x), len(x)], device=device())
    dist.all_reduce(total)
    return (total[0] / total[1]).item()
    ### END SOLUTION


# %% check validation_loss_fixed

# %%
for n in (1, 2, 4):
    run = launch(same_rows, n, validation_loss_fixed)
    print(f"ranks: {n}, the same 9 rows: {run.values[0]:.4f}" if run.ok else run)

# %% [markdown]
# ## The whole loop
#
# Everything together, this time with torch's parts: `DDP`, `torch.utils.data.DistributedSampler`, a `DataLoader`, SGD. Only how the processes start is left to lesson 04; here they already run.
#
# A few rules of thumb for real programs, before you write it:
#
# - The batch of a step is `batch_size × number of ranks`. A learning rate that was tuned for one GPU may have to change with it.
# - Let one rank print, and let it print numbers about *all* ranks.
# - One rank saves the model, `ddp.module.state_dict()`, and the others wait for it where they need it. (Lesson 06.)
# - The ranks' data should differ in augmentation too: seed what is random in the data with `seed + rank`, and what is random in the model alike.

# %% [markdown] exercise train_ddp
# Write the loop. The check notes which samples each rank took, replays the whole run in one process with the same batches, and compares the weights before every forward.
#
# The loss to report is that of the training, as it happened: a sample that the sampler gave to two ranks was trained on twice, and its row counts twice. (In `global_metric` the question was another one, about the data set, and there each sample counted once.) And use the learning rate as you are given it.


# %% answer train_ddp
def train_ddp(
    model: nn.Module, dataset, epochs: int, batch_size: int, learning_rate: float
) -> list[float]:
    """Train the model on all ranks with torch's DDP, plain SGD and the mean squared error.

    Each rank goes through its own part of the data set, which is shuffled anew in each epoch;
    the last batch may be smaller.

    Args:
        model: on this rank's device(). The ranks' weights differ to begin with; rank 0's count.
        dataset: pairs of an x and a y, on the CPU; its length need not be a multiple of anything.
        batch_size: the number of rows of one rank's batch.

    Returns:
        For each epoch the mean loss over the rows of all ranks, each as it was in its forward:
        the same list on every rank.
    """
    ### BEGIN SOLUTION
    ddp = DDP(model)
    sampler = torch.utils.data.DistributedSampler(dataset)
    loader = DataLoader(dataset, batch_size, sampler=sampler)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=learning_rate)
    losses = []
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        total = torch.zeros(2, dtype=torch.float64, device=device())  # sum of losses, rows
        for x, y in loader:
            x, y = x.to(device()), y.to(device())
            optimizer.zero_grad()
            loss = F.mse_loss(ddp(x), y)
            loss.backward()
            optimizer.step()
            total += torch.tensor([loss.item() * len(x), len(x)], device=device())
        dist.all_reduce(total)
        losses.append((total[0] / total[1]).item())
    return losses
    ### END SOLUTION


# %% check train_ddp

# %% [markdown]
# ## ZeRO: why should everybody keep everything?
#
# DDP's ranks are equal in all respects, and that is wasteful. Adam keeps two numbers for each weight. In mixed precision, where the weights have 2 bytes, their gradients 2, and the optimizer keeps a 4-byte copy of the weights and its two numbers, 12 of 16 bytes for each weight are the optimizer's (Rajbhandari et al., 2020). All ranks hold the same 12.
#
# **ZeRO**, stage 1, gives each weight an owner. Only the owner keeps its optimizer state and takes its step; then it sends the new weight to all. Stages 2 and 3 do the same with the gradients and with the weights themselves; PyTorch has them as *FSDP*.

# %%
draw_state(ranks=4)

# %% [markdown] exercise ShardedOptimizer
# Write it around any optimizer class of torch. The check trains with Adam and with momentum, compares with one whole optimizer, and counts the bytes of state that each rank holds. In layers, weights and biases come in turns: think about who gets what.


# %% answer ShardedOptimizer
class ShardedOptimizer:
    """An optimizer whose state is spread over the ranks; every rank ends each step with all weights.

    Each parameter belongs to one rank. Its owner keeps the state, takes the step, and sends the
    new values to all. The ranks' states differ by no more than that of the largest parameter.
    """

    def __init__(self, params, optimizer_class, **options):
        """
        Args:
            params: an iterable of the parameters, in the same order on all ranks; there may be
                fewer of them than ranks.
            optimizer_class: as torch.optim.Adam: optimizer_class(list of parameters, **options).
        """
        ### BEGIN SOLUTION
        self.params = list(params)
        loads = [0] * dist.get_world_size()
        self.owner = {}
        for param in sorted(self.params, key=lambda p: -p.numel()):
            self.owner[param] = loads.index(min(loads))
            loads[self.owner[param]] += param.numel()
        own = [p for p in self.params if self.owner[p] == dist.get_rank()]
        self.optimizer = optimizer_class(own, **options) if own else None
        ### END SOLUTION

    def zero_grad(self) -> None:
        """Clear the gradients of all parameters."""
        ### BEGIN SOLUTION
        for param in self.params:
            param.grad = None
        ### END SOLUTION

    def step(self) -> None:
        """Take a step with the gradients, which are the same on all ranks already."""
        ### BEGIN SOLUTION
        if self.optimizer is not None:
            self.optimizer.step()
        for param in self.params:
            dist.broadcast(param.detach(), src=self.owner[param])
        ### END SOLUTION


# %% check ShardedOptimizer


# %%
def state_bytes(make):
    model = nn.Sequential(*[nn.Linear(256, 256) for _ in range(8)]).to(device())
    optimizer = make(model)
    for param in model.parameters():
        param.grad = torch.ones_like(param)
    optimizer.step()
    inner = getattr(optimizer, "optimizer", optimizer)  # yours may have another name
    state = inner.state.values() if inner is not None else ()
    return sum(t.nbytes for s in state for t in s.values() if torch.is_tensor(t))


def whole(model):
    return torch.optim.Adam(model.parameters())


def sharded(model):
    return ShardedOptimizer(model.parameters(), torch.optim.Adam)


for make in (whole, sharded):
    run = launch(state_bytes, 4, make)
    print(f"{make.__name__:>8}: bytes of state on each rank {run.values}" if run.ok else run)

# %% [markdown]
# ## The four differences, measured
#
# Back to the table of the beginning. `nn.DataParallel` itself needs at least two GPUs; its *pattern* does not. The next cell has it with processes: rank 0 is home, sends the weights to each other rank, and gets each one's gradients back, one after the other, after backward. Against it stands your `BucketedDDP`. Both train the same model over the same pretended link.


# %%
def home_device(model):
    """DataParallel's traffic: weights out before the forward, gradients in after the backward."""
    rank, n = dist.get_rank(), dist.get_world_size()
    optimizer = torch.optim.Adam(model.parameters()) if rank == 0 else None

    def send_weights():
        for param in model.parameters():
            for other in range(1, n):
                if rank == 0:
                    dist.send(param.detach(), other)
                elif rank == other:
                    dist.recv(param.detach(), 0)

    def collect_gradients():
        for param in model.parameters():
            for other in range(1, n):
                if rank == 0:
                    arrived = torch.empty_like(param)
                    dist.recv(arrived, other)
                    param.grad += arrived
                elif rank == other:
                    dist.send(param.grad, 0)
        if rank == 0:
            for param in model.parameters():
                param.grad /= n

    return model, send_weights, collect_gradients, optimizer


def all_reduced(model):
    ddp = BucketedDDP(model, bucket_mb=0.7)
    return ddp, lambda: None, ddp.finish, torch.optim.Adam(ddp.parameters())


def measure(way):
    torch.manual_seed(dist.get_rank())
    model = deep_model()
    net, before, after, optimizer = way(model)
    x, y = torch.randn(128, 384), torch.randn(128, 384)

    def step():
        before()
        F.mse_loss(net(x), y).backward()
        after()
        if optimizer is not None:
            optimizer.step()
        model.zero_grad(set_to_none=False)

    step()
    best = None
    for _ in range(3):
        dist.barrier()
        with record(model, LINK) as recording:
            begin = time.perf_counter()
            step()
            seconds = time.perf_counter() - begin
        if best is None or seconds < best["seconds"]:
            best = {"seconds": seconds, "spans": recording.spans()}
    state = optimizer.state.values() if optimizer is not None else ()
    kept = [*model.parameters(), *(p.grad for p in model.parameters())]
    kept += [t for s in state for t in s.values() if torch.is_tensor(t)]
    return {**best, "kept": sum(t.nbytes for t in kept)}


RANKS = (2, 4)
table = {}
for way in (home_device, all_reduced):
    for n in RANKS:
        run = launch(measure, n, way, backend="gloo")
        if not run.ok:
            print(run)
            break
        table[way.__name__, n] = run.values


# %%
def spans_of(values):
    return [Span(*fields) for value in values for fields in value["spans"]]


def exchanged(values, rank):
    return [s for s in spans_of(values) if s.rank == rank and s.kind == COMMUNICATION]


def through_link(values, rank, way):
    """MB out and in: sends and receives as called; an all-reduce as a ring makes it."""
    n, given = len(values), sum(span.bytes for span in exchanged(values, rank))
    return given * (4 * (n - 1) / n if way == "all_reduced" else 1) / 1e6


def hidden(values, rank):
    """The share of the exchange during which this rank computed."""
    return 1 - exposed(spans_of(values), rank) / sum(s.seconds for s in exchanged(values, rank))


if len(table) == 2 * len(RANKS):
    print(f"{'':34}{'home device':>24}{'DDP':>24}")
    print(f"{'':34}" + "".join(f"{f'{n} ranks':>12}" for _ in range(2) for n in RANKS))
    rows = {
        "MB (10⁶) through rank 0's link": lambda v, w: f"{through_link(v, 0, w):.1f}",
        "MB (10⁶) through the last's link": lambda v, w: f"{through_link(v, -1 + len(v), w):.1f}",
        "MB kept, rank 0": lambda v, w: f"{v[0]['kept'] / 1e6:.1f}",
        "MB kept, last rank": lambda v, w: f"{v[-1]['kept'] / 1e6:.1f}",
        "ms for a step": lambda v, w: f"{max(value['seconds'] for value in v) * 1e3:.0f}",
        "exchange hidden behind backward": lambda v, w: f"{hidden(v, 0):.0%}",
    }
    for name, cell in rows.items():
        cells = [cell(table[way, n], way) for way in ("home_device", "all_reduced") for n in RANKS]
        print(f"{name:34}" + "".join(f"{text:>12}" for text in cells))

# %% [markdown]
# Read it row by row.
#
# - **Communication pattern.** What passes the home device's link grows with the number of ranks; with all-reduce, as a ring makes it, it stays below four times the model (twice out, twice in), however many there are. (Sends and receives are counted as they were called; for the all-reduce the ring's formula of lesson 05 is applied to the bytes that were given to it.)
# - **Memory.** At home there is the optimizer's state as well, and here the outputs of all, which this small model hardly has. With DDP all ranks hold the same; with ZeRO, which you have, less.
# - **Scaling.** Each rank has 128 rows, so that twice the ranks do twice the work in a step. The step of the home device gets longer with every rank; DDP's gets longer here mainly because four processes share this machine's cores.
# - **Overlap.** The home device's exchange begins when backward has ended. Yours does not.
#
# If this machine has two GPUs or more, the next cell runs `nn.DataParallel` itself.

# %%
if torch.cuda.device_count() >= 2:
    devices = torch.cuda.device_count()
    model = nn.DataParallel(nn.Sequential(*[nn.Linear(4096, 4096) for _ in range(5)]).cuda())
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(4):
        begin = time.perf_counter()
        optimizer.zero_grad()
        model(torch.randn(256 * devices, 4096, device="cuda")).square().mean().backward()
        optimizer.step()
        torch.cuda.synchronize()
    print(
        f"nn.DataParallel on {devices} GPUs: {(time.perf_counter() - begin) * 1e3:.0f} ms for a step"
    )
    for device_number in range(devices):
        print(
            f"cuda:{device_number}: at most {torch.cuda.max_memory_allocated(device_number) / 1e6:.0f} MB"
        )
else:
    print(f"This machine has {torch.cuda.device_count()} GPUs; nn.DataParallel needs two.")

# %% [markdown]
# **A question:** how much of your step is exchange that nothing hides? Take the timeline of `BucketedDDP` from above, and divide. If it is 30 % and you hid all of it, the step would take 70 % of the time: 1.43 times as fast, and no more. That is what there is to win by better overlap, a faster link, or fewer bytes.


# %%
def bucketed(model):
    ddp = BucketedDDP(model, bucket_mb=0.7)
    return ddp, ddp.finish


run = launch(record_a_step, 2, bucketed, backend="gloo")
if run.ok:
    spans = timeline(run)
    display(draw_timeline(spans, "BucketedDDP, buckets of 0.7 MB"))
    for rank in range(len(run)):
        last = max(span.end for span in spans if span.rank == rank)
        print(f"rank {rank}: {exposed(spans, rank) / last:.0%} of the step is exchange alone")
run if not run.ok else None

# %% [markdown]
# ## Recap
#
# 1. The mean of the ranks' gradients is the whole batch's gradient, if the shards are of equal size and the models equal. DDP sees to the models; the shards are yours to see to.
# 2. Hooks start the exchange inside backward; buckets make it few messages; what is not waited for is not there.
# 3. DDP decides in *its* forward, about the parameters that were there when it was *made*.
# 4. Reduce sums and counts and divide once; padding and small last batches count as what they are.
# 5. Equal ranks are simple and wasteful: ZeRO gives each weight's state one owner.
#
# ## Where to read on
#
# - *PyTorch Distributed: Experiences on Accelerating Data Parallel Training*: Shen Li et al., 2020. DDP's design by its authors: buckets, overlap, unused parameters.
# - *DistributedDataParallel* and *Distributed Data Parallel* (the design note): PyTorch documentation.
# - *ZeRO: Memory Optimizations Toward Training Trillion Parameter Models*: Samyam Rajbhandari, Jeff Rasley, Olatunji Ruwase and Yuxiong He, 2020.
# - *PyTorch FSDP: Experiences on Scaling Fully Sharded Data Parallel*: Yanli Zhao et al., 2023.
# - *Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour*: Priya Goyal et al., 2017. What changes when the batch gets n times as large.
