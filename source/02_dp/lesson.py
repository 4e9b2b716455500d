# %% [markdown]
# # DataParallel, and why it stops scaling
#
# The oldest way to train on several GPUs in PyTorch is one line: `model = nn.DataParallel(model)`. It works, it needs no other change, and sooner or later it disappoints: the second GPU helps less than expected, the fourth hardly, and the first one runs out of memory while the others are half empty. In this lesson you build DataParallel from its parts and measure where memory and bytes go. When you have finished it you can
#
# - write its parts, scatter, replicate, parallel apply and gather, say who does the reduce, and say what each moves and where to;
# - predict what a training step holds on each device, by kind, and how many bytes pass through the first one;
# - find the largest batch that fits, and say what runs out first;
# - say what a thread can do for a GPU and what Python's interpreter lock keeps it from doing;
# - check a story that is often told about four GPUs, with the numbers in hand;
# - recognise two mistakes that nothing complains about.
#
# **Time:** about four hours, three of them for the ten exercises. A good place to stop is before *What home holds*. **Needs:** PyTorch modules and autograd. A CPU is enough.
#
# An answer runs in a fresh process, not in this notebook. It sees what the next cell defines and what stands in its own cell, and nothing else.

# %% prelude

# %%
import matplotlib.pyplot as plt

from autograder.check import check
from course.measure import dp_step, gil, memory
from course.ranks import launch
from course.widgets import dp_step as dp_step_widget
from course.widgets import memory as memory_widget
from course.widgets.gil import draw_gil
from course.widgets.ledger import draw_ledger

# %% [markdown]
# ## Several GPUs on any machine
#
# DataParallel lives in *one* process that has *several* devices. Most machines have one GPU or none, so this lesson brings its own: **virtual GPUs**. They are devices in torch's own sense. Tensors live on one of them and do not mix with another's, modules, autograd and optimizers work, and memory comes to an end. The arithmetic is done by the CPU, so that it is as right as the CPU's and as slow. What they have and a real GPU lacks is a **ledger**: it knows of each byte on each device what it is for, and notes every copy between devices.
#
# `launch(function, 1)` runs an experiment in a process of its own. (The 1 is the number of processes; lesson 03 will use more.) Predict the last line before you run it.


# %%
def look_around():
    with gpus(4, memory="1 GiB") as devices:
        print(*devices)
        x = torch.arange(6.0, device=devices[1])
        layer = nn.Linear(1000, 1000).to(devices[2])
        there = x.to(devices[2])  # a copy, which autograd can follow
        print("x * 2 is on", (x * 2).device, "and the layer on", layer.weight.device)
        for device in devices:
            held = {kind: size for kind, size in ledger(device).by_kind.items() if size}
            print(device, "holds", held or "nothing")
        print(x + there)


launch(look_around, 1)

# %% [markdown]
# That error is torch's own, word for word as CUDA would give it: nothing travels between devices unless somebody says so. The rest of this lesson is about who says so, when, and with how many bytes.
#
# What virtual GPUs are not good for is time. Where this lesson speaks of seconds, it says what was measured on what.

# %% [markdown]
# ## One line, and what it does
#
# Here is one training step of torch's own `nn.DataParallel`, of a small model and 8 rows on four devices, and every copy that the ledger noted. (DataParallel is Python, and runs unchanged. Only the copies between devices are written in C++, for CUDA; for virtual GPUs the course has them in terms of `.to`.)


# %%
def one_step_of_torchs():
    with gpus(4, memory="1 GiB") as devices:
        home = devices[0]
        model = nn.Linear(200, 50).to(home)
        parallel = nn.DataParallel(model)
        x, y = torch.randn(8, 200, device=home), torch.randn(8, 50, device=home)
        begin = len(transfers())  # until now: how the model came home
        loss = F.mse_loss(parallel(x), y)
        forward = len(transfers())
        loss.backward()
        for name, copies in (
            ("in the forward", transfers()[begin:forward]),
            ("in backward", transfers()[forward:]),
        ):
            print(name)
            for one in copies:
                print(f"  {one.source} → {one.target} {one.bytes:>8,} bytes of {one.kind}")


launch(one_step_of_torchs, 1)

# %% [markdown]
# The weights and biases of this model have 4 × (200 · 50 + 50) = 40,200 bytes. Find them in the list: they go out to each of the three others, and as many bytes come back in backward. Two rows of the batch have 1,600 bytes and two rows of the output 400. Every line begins or ends at `vgpu:0`: no two other devices ever speak to each other.
#
# That device is called **home**. A training step has eight stages:
#
# 1. **Scatter**: the batch is cut into pieces, and each goes to its device.
# 2. **Replicate**: the model is copied from home to all others, in *every* forward.
# 3. **Parallel apply**: each replica computes its piece, in a thread of its own.
# 4. **Gather**: the outputs are put together at home.
# 5. **Loss**: it is computed at home, of all rows.
# 6. **Backward**: the gradients of the outputs go out to where the outputs came from, and each replica goes through its backward.
# 7. **Reduce**: the replicas' gradients come home, and are added up there. The replicas are gone.
# 8. **Optimizer step**: at home, and only there.
#
# The next picture has a step in these stages, with the same numbers; in the widget below it you can go through them one by one. `vgpu:0`, home, is GPU 0 there. A bar in a device is what it holds at the end of the stage, the thin grey line how much it held at most, and an arrow has the colour of what it carries.

# %%
step = dp_step.example()
dp_step_widget.draw_step(step)

# %%
dp_step_widget.show(step)

# %% [markdown]
# Scatter, replicate, parallel apply and gather are the exercises that follow. You may wonder who writes backward and reduce. Nobody: if the four are made of operations that autograd can follow, autograd does it.
#
# ## Scatter
#
# The pieces are those of `torch.chunk`. How large are they, where it does not divide? Guess before you run the cell.

# %%
for rows, devices in ((8, 4), (9, 4), (10, 4), (5, 4), (2, 4)):
    pieces = [len(piece) for piece in torch.arange(rows).chunk(devices)]
    even = [len(piece) for piece in torch.arange(rows).tensor_split(devices)]
    print(f"{rows:>2} rows for {devices}: chunk {pieces!s:14} tensor_split {even}")

# %% [markdown]
# `chunk` rounds the size of a piece up, and the last ones get what is left: less, or nothing at all. With 9 rows the fourth device does nothing. A last, small batch of an epoch may use one device only. Code that expects a piece for each device fails then, in the last step of the first epoch; this has been [reported to PyTorch](https://github.com/pytorch/pytorch/issues/15161) as a puzzling error about a missing argument.

# %% [markdown] exercise scatter
# Write it for tensors first, and then for tuples, lists and dicts of tensors: what a model takes is often more than one tensor. The check wants both, and tells you which of them is missing. (Here and in the next three exercises do without torch's own `nn.parallel`: it has these four functions.)


# %% answer scatter
def scatter(batch, devices: list) -> list:
    """Cut a batch into pieces, one for each device, and move each to its device.

    Args:
        batch: a tensor, or a tuple, list or dict of such, nested in any way. All tensors have
            the same number of rows (their first dimension). Whatever is no tensor goes to
            every device as it is.
        devices: one or more torch.device.

    Returns:
        The pieces, each of the batch's form; piece i on devices[i]. A tensor is cut as
        tensor.chunk(len(devices)) does it: there may be fewer pieces than devices.
    """
    ### BEGIN SOLUTION
    if isinstance(batch, torch.Tensor):
        return [rows.to(device) for rows, device in zip(batch.chunk(len(devices)), devices)]
    if isinstance(batch, (tuple, list)) and batch:
        return [type(batch)(parts) for parts in zip(*(scatter(item, devices) for item in batch))]
    if isinstance(batch, dict) and batch:
        columns = zip(*(scatter(item, devices) for item in batch.values()))
        return [dict(zip(batch, parts)) for parts in columns]
    return [batch] * len(devices)
    ### END SOLUTION


# %% check scatter

# %% [markdown]
# ## Replicate
#
# A copy of a module on another device: nothing easier, it seems. Three ways, each followed by backward through the copy.


# %%
def three_ways():
    with gpus(2, memory="1 GiB") as devices:
        x = torch.ones(4, 3, device=devices[1])

        def report(name, layer, replica):
            replica(x).sum().backward()
            grad = layer.weight.grad
            shown = "none" if grad is None else grad[0].tolist()
            print(f"{name:32} layer.weight on {layer.weight.device}, its gradient: {shown}")

        layer = nn.Linear(3, 2).to(devices[0])
        report("layer.to(device)", layer, layer.to(devices[1]))

        layer = nn.Linear(3, 2).to(devices[0])
        report("copy.deepcopy(layer).to(device)", layer, copy.deepcopy(layer).to(devices[1]))

        layer = nn.Linear(3, 2).to(devices[0])
        weight, bias = layer.weight.to(devices[1]), layer.bias.to(devices[1])
        report("tensors moved with .to", layer, lambda x: F.linear(x, weight, bias))


launch(three_ways, 1)

# %% [markdown]
# `module.to` is unlike `tensor.to`: it moves the module itself, and home has none any more. A deep copy is a model of its own, whose gradients nobody will ever look at; trained like this, the model would learn from home's rows only, and nothing would complain. In the third, the copied tensor remembers what it is a copy of: it has a *grad_fn*. Its gradient goes back over the link, and is *added* to `layer.weight.grad`. With several replicas that sum is the reduce stage.
#
# So a replica is a module of the same form, in whose places for parameters stand such copies. They are not `nn.Parameter`s, and need not be.

# %% [markdown] exercise replicate
# Write it. Three things to think of: buffers (the model needs them, and some are not in the state dict), modules inside modules, and **tied** weights: where two layers share one tensor, their replicas share one copy.


# %% answer replicate
def replicate(module: nn.Module, devices: list) -> list[nn.Module]:
    """Copies of the module, one on each device, whose tensors are copies of the module's.

    The copies of parameters are made by tensor.to(device), so that backward through a replica
    reaches the module's parameters. A tensor that is used in two places of the module is
    copied once for each device. The module itself is not changed. The copies do not disturb
    each other: they may be called at the same time, in threads.

    Args:
        module: on devices[0], with parameters and buffers, in modules nested in any way.

    Returns:
        Replica i is called as the module is, with inputs on devices[i].
    """
    ### BEGIN SOLUTION
    replicas = []
    for device in devices:
        tensors = [*module.parameters(), *module.buffers()]
        copies = {id(tensor): tensor.to(device) for tensor in tensors}
        replicas.append(copy.deepcopy(module, copies))  # puts a copy where its original stood
    return replicas
    ### END SOLUTION


# %% check replicate

# %% [markdown]
# ## Parallel apply
#
# Now every device has a replica and a piece. A GPU works on its own once it has been given work; but somebody has to call its replica's forward. One after the other would do on real GPUs, where calls return at once, if Python were fast enough to keep four of them busy. DataParallel uses a **thread** for each.
#
# Threads have manners of their own. Three of them matter here:


# %%
def manners():
    with torch.no_grad():
        print("grad mode here:", torch.is_grad_enabled())
        thread = threading.Thread(target=lambda: print("in a thread:", torch.is_grad_enabled()))
        thread.start()
        thread.join()

    def fails():
        raise ValueError("something is wrong")

    thread = threading.Thread(target=fails)
    thread.start()
    thread.join()
    print("and the program goes on")

    texts = []
    threads = [threading.Thread(target=lambda: texts.append(i)) for i in range(3)]
    for thread in threads:
        thread.start()
    print("who was there:", texts)


launch(manners, 1)

# %% [markdown]
# Grad mode (and autocast, too) belongs to a thread, and a new thread begins with the default. An exception ends its thread and nobody else. And a function that is made in a loop reads the loop's variable when it *runs*: by then it was 2, for all three.

# %% [markdown] exercise parallel_apply
# Write it. In the check some replicas wait until all are running, so that one after the other will not do.


# %% answer parallel_apply
def parallel_apply(replicas: list, inputs: list[tuple], devices: list) -> list:
    """Call all replicas at the same time, each in a thread of its own.

    Grad mode in the threads is the caller's. If replicas raise an exception, one of these is
    raised when all replicas have ended: itself, or a new one `from` it. Its text, or a note
    (error.add_note), contains the name of the device as str(devices[i]) gives it.

    Args:
        inputs: inputs[i] are the positional arguments of replicas[i], on devices[i].

    Returns:
        The outputs, in the order of the replicas.
    """
    ### BEGIN SOLUTION
    outputs, errors = [None] * len(replicas), [None] * len(replicas)
    grad = torch.is_grad_enabled()

    def work(i):
        torch.set_grad_enabled(grad)
        try:
            outputs[i] = replicas[i](*inputs[i])
        except Exception as error:
            error.add_note(f"in the replica on {devices[i]}")
            errors[i] = error

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(replicas))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        if error is not None:
            raise error
    return outputs
    ### END SOLUTION


# %% check parallel_apply

# %% [markdown]
# ### Threads and the interpreter lock
#
# One process has one **GIL** (global interpreter lock): at any moment one thread runs Python, whichever holds the lock. torch releases it inside its operations. So two threads can compute large matrix products at the same time; but between operations there is Python, one line after the other, for all threads together. A model of many small operations spends most of its time there.
#
# The next cell measures it on this machine: many small operations and few large ones, by one and by two workers, which are threads in one case and processes in the other. A perfect result would be twice the operations per second.

# %%
times = gil.measure(workers=(1, 2))
display(draw_gil(times))
for work in ("small", "large"):
    for how in ("threads", "processes"):
        print(
            f"{work:>6} operations, 2 {how:10} {times.speed_up(work, how, 2):.2f} times as many per second"
        )

# %% [markdown]
# Read off what a second thread brings for the small operations and what a second process does. With real GPUs it is the same story: the operations take their time on the GPU and not here, but *starting* them is Python, and four replicas share one interpreter for it. When the GPUs are fast, and the operations small, they wait for Python. That is why DDP uses a process for each GPU. (A build of Python without the lock exists since version 3.13; it changes this section, and none of the others.)

# %% [markdown]
# ## Gather
#
# The outputs come home. Tensors are put one after the other, so that row i of the result belongs to row i of the batch. A replica may also return a scalar, a tensor without dimensions: its loss, for instance. Four replicas return four of them, and these become a vector. Take care what you do with it then: its mean is the whole batch's mean only if all pieces were equally large.

# %% [markdown] exercise gather
# Write it, for the same nested values as in scatter. It has to be differentiable, too.


# %% answer gather
def gather(outputs: list, device: torch.device):
    """Put the replicas' outputs together on one device.

    Tensors become one tensor, with their rows one after the other. Tensors without dimensions
    (scalars) become a vector of them. Tuples, lists and dicts are gathered entry by entry and
    keep their form; None stays None.

    Args:
        outputs: one for each replica, all of the same form, each on its own device.
    """
    ### BEGIN SOLUTION
    first = outputs[0]
    if isinstance(first, torch.Tensor):
        moved = [output.to(device) for output in outputs]
        return torch.cat(moved) if first.dim() else torch.stack(moved)
    if isinstance(first, dict):
        return {key: gather([output[key] for output in outputs], device) for key in first}
    if isinstance(first, (tuple, list)):
        return type(first)(gather(list(parts), device) for parts in zip(*outputs))
    return first
    ### END SOLUTION


# %% check gather

# %% [markdown]
# ## All together
#
# Before you put the parts together, think about the loss. With DDP, every rank computes a mean over its own rows, and the gradients are averaged over ranks. Here the loss is computed *once*, at home, from all rows. Do the replicas' gradients have to be divided by anything?

# %% [markdown] exercise data_parallel
# Put the parts together. Copy your four functions into this cell, or use torch's, which are in `nn.parallel` under the same names (they want device *numbers*, `device.index`, and `parallel_apply` takes `devices=`). Only `nn.DataParallel` itself is not allowed.


# %% answer data_parallel
def data_parallel(module: nn.Module, batch: torch.Tensor, devices: list) -> torch.Tensor:
    """module(batch), computed on all devices that get rows; the model goes to no other.

    Args:
        module: on devices[0]. It takes a tensor of rows and returns one.
        batch: on devices[0].

    Returns:
        The output for all rows, on devices[0]. Backward from it gives the module's parameters
        the gradients that they would get without the other devices.
    """
    ### BEGIN SOLUTION
    indices = [device.index for device in devices]
    pieces = nn.parallel.scatter(batch, indices)
    used = indices[: len(pieces)]
    if len(used) == 1:
        return module(batch)
    replicas = nn.parallel.replicate(module, used)
    outputs = nn.parallel.parallel_apply(replicas, [(piece,) for piece in pieces], devices=used)
    return nn.parallel.gather(outputs, indices[0])
    ### END SOLUTION


# %% check data_parallel

# %% [markdown]
# Does it train like one device? Five steps of each, with 10 rows in every step and one in the last. (Cells like this one call your answer. Until there is one, they say `NotImplementedError`.)


# %%
def train(forward, count, steps=5):
    with gpus(count, memory="1 GiB") as devices:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2)).double().to(devices[0])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(steps):
            torch.manual_seed(step)
            x = torch.randn(1 if step == steps - 1 else 10, 6, dtype=torch.float64).to(devices[0])
            optimizer.zero_grad()
            F.mse_loss(forward(model, x, list(devices)), x[:, :2] * x[:, 2:4]).backward()
            optimizer.step()
        return [p.detach().cpu() for p in model.parameters()]


def alone(model, x, devices):
    return model(x)


def torchs(model, x, devices):
    return nn.DataParallel(model)(x)


wanted = launch(train, 1, alone, 1).values[0]
for forward in (data_parallel, torchs):
    for count in (2, 3, 4):
        run = launch(train, 1, forward, count)
        if run.ok:
            worst = max((a - b).abs().max().item() for a, b in zip(run.values[0], wanted))
            print(
                f"{forward.__name__:13} on {count} devices: largest difference of any weight {worst:.1e}"
            )
        else:
            print(run)

# %% [markdown]
# What remains is rounding: a sum of four numbers depends on their order in the last digit. By the numbers, then, there is nothing to be said against DataParallel. (There are two exceptions. BatchNorm: each replica normalises by the mean of its own piece, and of the running averages only those that home's replica made of its own piece are kept. Dropout: each replica draws its own random numbers, so the result is as good, and not the same.)

# %% [markdown]
# ### In production: the penalty that was never paid
#
# A replica is made for one forward and then thrown away. So what happens to things that a model remembers? This one computes, on the way, a penalty on its hidden values: mixture-of-experts models do so to keep their experts equally busy, sparse autoencoders to keep their codes sparse. It puts it on `self`, and the training loop picks it up.


# %%
class Forgetful(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(5, 7)
        self.head = nn.Linear(7, 3)
        self.penalty = 0.0

    def forward(self, x):
        hidden = torch.relu(self.inner(x))
        self.penalty = hidden.square().mean()
        return self.head(hidden)


def penalised_step(parallel, x, y):
    output = parallel(x)
    loss = F.mse_loss(output, y) + 0.1 * parallel.module.penalty
    loss.backward()
    return loss.item()


def watch_the_penalty(count):
    with gpus(count, memory="1 GiB") as devices:
        torch.manual_seed(0)
        parallel = nn.DataParallel(Forgetful().to(devices[0]))
        x, y = torch.randn(8, 5, device=devices[0]), torch.randn(8, 3, device=devices[0])
        loss = penalised_step(parallel, x, y)
        penalty = torch.as_tensor(parallel.module.penalty).item()
        print(f"on {count} device{'s' * (count > 1)}: loss {loss:.4f}, penalty {penalty:.4f}")


for count in (1, 2):
    print(launch(watch_the_penalty, 1, count))

# %% [markdown]
# On one device DataParallel calls the module itself, and all is well. On two, each replica sets the attribute on itself, and `parallel.module` still has the 0.0 that it was born with. The loss is smaller, training looks better than ever, and what the penalty was to prevent happens. Counters and caches that forward assigns to `self` are lost in the same way ([pytorch issue 2864](https://github.com/pytorch/pytorch/issues/2864)). A buffer that is changed *in place*, as BatchNorm's running averages are, is a little better off: home's replica shares it with the module, so what home did stays, and what the others did is lost.

# %% [markdown] exercise penalised_step_fixed
# Mend it: the class and the step. On any number of devices, with any number of rows, the loss and the gradients are to be those of one device.


# %% answer penalised_step_fixed
class Net(nn.Module):
    """Two layers. The penalty of a row is the mean of its squared hidden values."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(5, 7)
        self.head = nn.Linear(7, 3)

    def forward(self, x):
        ### BEGIN SOLUTION
        hidden = torch.relu(self.inner(x))
        return self.head(hidden), hidden.square().mean(1)
        ### END SOLUTION


def penalised_step_fixed(parallel: nn.DataParallel, x: torch.Tensor, y: torch.Tensor) -> float:
    """Compute the loss of all rows, and the gradients of the model's parameters.

    The loss is the mean squared error plus 0.1 times the mean penalty of all rows.

    Args:
        parallel: a Net inside nn.DataParallel, with cleared gradients.
        x, y: on the home device.

    Returns:
        The loss. Its gradients are in the .grad of the Net's parameters.
    """
    ### BEGIN SOLUTION
    output, penalty = parallel(x)
    loss = F.mse_loss(output, y) + 0.1 * penalty.mean()
    loss.backward()
    return loss.item()
    ### END SOLUTION


# %% check penalised_step_fixed

# %% [markdown]
# ### In production: the model that forgot everything
#
# A model was trained inside DataParallel and saved. Later it is loaded for use, on a machine with one GPU. The first attempt failed with an error about missing keys, somebody found `strict=False` on the web, and now it runs.

# %%
torch.manual_seed(1)
trained = nn.DataParallel(nn.Linear(2, 1).cpu())
state = trained.state_dict()
print("saved:", *state)

fresh = nn.Linear(2, 1)
before = fresh.weight.clone()
print(fresh.load_state_dict(state, strict=False))
print("weights before and after loading:", before.tolist(), fresh.weight.tolist())

# %% [markdown]
# DataParallel is a module with one child, called `module`, and a state dict's names are paths. None of the saved names is one of the model's. The call *says* so, in a value that nobody looks at.
#
# There are repairs on the web for this as well. Some cut seven characters off every name, whatever they are; some replace `module.` wherever it stands.

# %% [markdown] exercise load_checkpoint_fixed
# Write a loader that takes checkpoints saved with and without DataParallel, for models with and without it, and refuses what does not fit.


# %% answer load_checkpoint_fixed
def load_checkpoint_fixed(model: nn.Module, state: dict) -> None:
    """Load a state dict into the model, and raise an exception if it is not that model's.

    Args:
        model: a model, or a model inside nn.DataParallel.
        state: the state dict of the same model, saved inside DataParallel or without. A part of
            the model may be called module, too.
    """
    ### BEGIN SOLUTION
    inner = model.module if isinstance(model, nn.DataParallel) else model
    own = inner.state_dict()
    if set(state) != set(own) and all(name.startswith("module.") for name in state):
        state = {name.removeprefix("module."): tensor for name, tensor in state.items()}
    inner.load_state_dict(state)
    ### END SOLUTION


# %% check load_checkpoint_fixed

# %% [markdown]
# Better still is not to need it: save `parallel.module.state_dict()`. The names are then the model's own.

# %% [markdown]
# ## What home holds
#
# Now to the price. Where is the memory? The next cell takes a step of `nn.DataParallel` with Adam, and asks the ledger at two moments: when the loss is there and backward has not begun, and after the optimizer's step.


# %%
def a_model(widths, activation=nn.Tanh):
    layers = [nn.Linear(widths[0], widths[1])]
    for a, b in zip(widths[1:], widths[2:]):
        layers += [activation(), nn.Linear(a, b)]
    return nn.Sequential(*layers)


def held_in_a_step(widths, rows, count, activation=nn.Tanh):
    with gpus(count, memory="4 GiB", compute=False) as devices:  # only accounts: no numbers
        model = a_model(widths, activation).to(devices[0])
        optimizer = torch.optim.Adam(model.parameters(), foreach=False)
        x = torch.zeros(rows, widths[0])
        y = torch.zeros(rows, dtype=torch.long, device=devices[0])
        output = nn.DataParallel(model)(x)
        loss = F.cross_entropy(output, y)
        before = {str(d): kinds for d, kinds in memory_by_kind().items()}
        loss.backward()
        optimizer.step()
        after = {str(d): kinds for d, kinds in memory_by_kind().items()}
        return before, after, {str(d): ledger(d).peak for d in devices}


WIDTHS, ROWS = [400, 600, 500], 900
run = launch(held_in_a_step, 1, WIDTHS, ROWS, 4)
if run.ok:
    before, after, peaks = run.values[0]
    for name, moment in (("before backward", before), ("after the step", after)):
        print(f"{name}, in kB")
        for device, kinds in moment.items():
            held = [f"{kind} {size / 1e3:,.0f}" for kind, size in kinds.items() if size]
            print(f"  {device}", *(held or ["nothing"]), sep="   ")
    print("at most, in kB")
    print(" ", *(f"{device} {size / 1e3:,.0f}" for device, size in peaks.items()), sep="   ")
else:
    print(run)

# %% [markdown]
# It is often said that home is full because all gradients are collected there. They are, for a moment; but that is one part of several, and rarely the largest. Home alone has
#
# - the **gradients** that stay (as large as the parameters);
# - the **optimizer's state** (for Adam, twice as large again);
# - the **outputs** of *all* rows, and what the loss makes of them: `cross_entropy` keeps the log-probabilities, as many numbers once more. With a vocabulary of 30,000 words this is the part that hurts.
#
# **Activations**, what autograd keeps of the forward for backward, are shared among the devices, as the rows are. A `Linear` keeps its input. `tanh` keeps its result, since its derivative is 1 − tanh². `gelu` keeps its argument. What is both a result here and an input there is one tensor, and counts once.

# %% [markdown] exercise memory_per_device
# Predict all this from the shapes. The check compares with the ledger, to 5 %. Take the model above, change one thing at a time (rows, widths, `nn.GELU` for `nn.Tanh`), and see what changes.


# %% answer memory_per_device
def memory_per_device(
    widths: list[int], rows: int, devices: int, optimizer: str, activation: str
) -> list[dict[str, int]]:
    """Bytes by kind on each device, in one training step of nn.DataParallel in float32.

    The model is Linear(widths[0], widths[1]), activation, Linear(widths[1], widths[2]),
    activation, …, and ends with a Linear. Its outputs are gathered at home, where the loss is
    F.cross_entropy. DataParallel uses torch.chunk, and replicates to devices that get rows.

    Args:
        optimizer: "SGD", "momentum" (SGD with it) or "Adam".
        activation: "tanh" or "gelu".

    Returns:
        For each device, home first, a dict of five numbers. While the replicas compute,
        "parameters". Just before backward, "activations" (what autograd keeps, with the
        piece of the batch that the first layer needs) and "outputs" (the gathered output, and
        what the loss makes of it). After the optimizer's first step, "gradients" and "optimizer state".
    """
    ### BEGIN SOLUTION
    weights = sum(a * b + b for a, b in zip(widths, widths[1:]))
    kept = widths[0] + sum(widths[1:-1]) * (2 if activation == "gelu" else 1)
    states = {"SGD": 0, "momentum": 1, "Adam": 2}[optimizer]
    size = math.ceil(rows / devices)
    found = []
    for device in range(devices):
        here = max(0, min(size, rows - device * size))
        home = device == 0
        numbers = {
            "parameters": weights if here else 0,
            "gradients": weights if home else 0,
            "optimizer state": states * weights if home else 0,
            "activations": here * kept,
            "outputs": 2 * rows * widths[-1] if home else 0,
        }
        found.append({kind: 4 * number for kind, number in numbers.items()})
    return found
    ### END SOLUTION


# %% check memory_per_device

# %%
predicted = memory_per_device(WIDTHS, ROWS, 4, "Adam", "tanh")
for device, numbers in enumerate(predicted):
    print(
        f"vgpu:{device}",
        *(f"{kind} {size / 1e3:,.0f}" for kind, size in numbers.items()),
        sep="   ",
    )

# %% [markdown]
# These numbers are of two moments. In between, memory goes up and down; what decides whether a step fits is the **peak**. Here is a whole step, with the stages marked, at home and on another device. Did you expect the peak at home where the gradients come together, in *reduce*? There is a hump. (Another one is in *replicate*: torch's `nn.DataParallel` sends many small tensors as one large one, and for the moment home holds that copy of all parameters beside them.) The peak is at the beginning of backward: all activations are still there, and for the outputs of all rows there are log-probabilities and, now, gradients. (This model has a vocabulary of 2,000 words.)

# %%
draw_ledger(step)

# %% [markdown]
# ## What passes through home
#
# The other price is traffic. Replicas are made anew in each forward: n − 1 copies of the model leave home in each step, and n − 1 sets of gradients come back. Every byte passes the same link, and none of it is hidden behind computation: replicas are needed before the forward begins.

# %% [markdown] exercise traffic
# Count the bytes through home in one step, in and out; and what would pass each device if the gradients were averaged by a *ring all-reduce* instead, the algorithm that lesson 05 builds: in 2(n − 1) rounds each device sends a chunk of 1/n of the gradients to its neighbour, and receives another.


# %% answer traffic
def traffic(
    devices: int, rows: int, model_bytes: int, row_in: int, row_out: int
) -> tuple[float, float]:
    """Bytes that pass the home device's link in one step of DataParallel, and a ring's device.

    What goes out and what comes in both count. The batch is on the home device, and needs no
    gradient itself; the whole model is trainable; the loss is computed at home.

    Args:
        model_bytes: bytes of all parameters, and so of all gradients.
        row_in, row_out: bytes of a row of the batch, and of a row of the outputs.

    Returns:
        The bytes through the home device; and the bytes through each device if the gradients
        were averaged by a ring all-reduce over all devices instead, and nothing else moved.
    """
    ### BEGIN SOLUTION
    at_home = math.ceil(rows / devices)
    others = math.ceil(rows / at_home) - 1  # devices that get rows
    away = rows - at_home
    home = 2 * others * model_bytes + away * row_in + 2 * away * row_out
    ring = 2 * 2 * (devices - 1) / devices * model_bytes
    return home, ring
    ### END SOLUTION


# %% check traffic

# %%
COUNTS = range(1, 17)
MODEL, ROW = 1340e6, 512 * 30522 * 4  # BERT-large's parameters, and a text's scores for all words
if traffic(2, 2, 8, 4, 4):
    home, ring = zip(*(traffic(n, 4 * n, MODEL, 512 * 8, ROW) for n in COUNTS))
    plt.figure(figsize=(6, 3.2))
    plt.plot(COUNTS, [b / 1e9 for b in home], "o-", label="home of DataParallel")
    plt.plot(COUNTS, [b / 1e9 for b in ring], "s-", label="any device of a ring")
    plt.xlabel("devices, with 4 texts on each")
    plt.ylabel("GB through its link in a step")
    plt.legend()

# %% [markdown]
# That is the case against DataParallel's traffic, in one picture. (The others are home's memory and the interpreter lock.) One line grows with every device; the other one stays below four times the model. A GPU more brings one GPU's computation and adds a model's weights and gradients to a link that is already full.

# %% [markdown]
# ## The largest batch
#
# How large a batch fits? Nobody knows before trying: predict, and you forget something. So one tries, until `torch.OutOfMemoryError`. A try is dear (a whole step), and what fits with 40 rows fits with 30.
#
# One trap: an exception holds on to the frames that it came through, and so to all tensors of the failed step, for as long as its `except` block runs. Who tries again *inside* it has less memory than before.

# %% [markdown] exercise largest_batch
# Write the search. In the check the step really fills a device.


# %% answer largest_batch
def largest_batch(step) -> int:
    """The largest number of rows for which step(rows) does not run out of memory, or 0.

    If it fits with some rows, it fits with fewer. A try is dear: at most
    2 ⌈log₂(largest + 1)⌉ + 2 of them.

    Args:
        step: step(rows) runs a training step with so many rows, 1 or more. It raises
            torch.OutOfMemoryError when they do not fit. Any other error is not yours to handle.
    """

    ### BEGIN SOLUTION
    def fits(rows):
        try:
            step(rows)
        except torch.OutOfMemoryError:
            return False
        return True

    low, high = 0, 1
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low
    ### END SOLUTION


# %% check largest_batch

# %% [markdown]
# Try it on your own `data_parallel`: how much larger a batch can four devices take than one?


# %%
def how_many_fit(count, card="64 MB"):
    def step(rows):
        with gpus(count, memory=card, compute=False) as devices:
            home = devices[0]
            model = a_model([400, 1000, 1000, 500]).to(home)
            optimizer = torch.optim.Adam(model.parameters(), foreach=False)
            x = torch.zeros(rows, 400, device=home)
            y = torch.zeros(rows, dtype=torch.long, device=home)
            F.cross_entropy(data_parallel(model, x, list(devices)), y).backward()
            optimizer.step()

    return largest_batch(step)


for count in (1, 2, 4):
    run = launch(how_many_fit, 1, count)
    print(f"{count} device{'s' * (count > 1)}: {run.values[0]:,} rows" if run.ok else run)

# %% [markdown]
# Four devices take about twice as many rows as one, not four times as many: 3,088, 4,857 and 5,868 rows with the reference answer. Parameters, gradients and Adam's state are at home in any case, and the outputs of all rows come to home, too. Only activations are shared.

# %% [markdown]
# ## A story about four V100
#
# There is a story that is told in courses. Somebody trained BERT-large on four V100 with 16 GB each. With DataParallel no batch larger than 16 would fit, because of the home device. They changed to DDP, the batch went up to 64, and training became almost three times as fast.
#
# It is a good story. Is it true? We have a ledger. `memory.account` takes a training step of a transformer of BERT-large's size through torch's own `nn.DataParallel` on devices that only account, and finds the largest batch (of all devices together) that fits. The story does not say how long its texts were, which optimizer it used, or in which precision. We take Adam, and try two lengths and two precisions; the widget further down has the rest.

# %%
table = memory.fits_table(optimizers=("Adam",), lengths=(256, 512))
display(memory_widget.draw_fits(table))
for fit in table:
    c = fit.config
    print(
        f"{c.length:>4} words, {c.precision:9}{c.optimizer:5} {c.way:4} fits {fit.batch:>4} texts"
    )

# %% [markdown]
# The ledger counts a loop in which the outputs are freed as soon as the loss has been computed from them. Most loops have them in a variable until the step is over. So here is the whole step once more, in full, with and without:


# %%
def bert_in_full(batch, keep):
    with gpus(4, "16 GiB", compute=False) as devices:
        home = devices[0]
        with torch.device(home):
            model = memory.build("BERT-large")
        optimizer = memory.optimizer("Adam", model.parameters())
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        optimizer.step()  # so that Adam has its state
        optimizer.zero_grad()
        text = torch.zeros(batch, 512, dtype=torch.long, device=home)
        output = nn.DataParallel(model)(text)
        loss = F.cross_entropy(output.flatten(0, 1), text.flatten())
        if not keep:
            del output
        loss.backward()
        optimizer.step()
        return [ledger(device).peak for device in devices]


for batch, keep in ((16, False), (16, True), (18, True)):
    run = launch(bert_in_full, 1, batch, keep)
    shown = (
        [f"{peak / 2**30:.1f}" for peak in run.values[0]]
        if run.ok
        else run.failure.message.split(". GPU")[0]
    )
    print(f"{batch} texts, outputs {'kept' if keep else 'freed'}: GiB at most", shown)

# %% [markdown]
# Now compare DP against DDP:
#
# - **The 16 is right.** Texts of 512 words, Adam, 32 bits: the table says 20, if the outputs are freed. With outputs that are kept, 16 texts need 14 GiB at home, and 18 do not fit. CUDA itself takes some hundred MB of a real card, too. 16 is what one would end up with, and home is why: the others need 8 GiB.
# - **The 64 is not**, with the same texts. DDP fits 24 in 32 bits and 28 with autocast: somewhat more than DataParallel, not four times as much. Four times the batch needs four times the activations on every card, and activations are the largest part on every card. What only home has is its gradients and Adam's state, which DDP has on every card, and the outputs of the others. To take those away cannot make room for four times the rest.
# - **With shorter texts 64 does fit**, and more: 80 texts of 256 words, with autocast. But then DataParallel fits 60. In no row of the table does DDP fit even one and a half times as much.
#
# So what happened? We cannot know. But one thing is easy to mistake: the batch size given to a DataLoader is the *whole* batch with DataParallel, and that of *one rank* with DDP. "16" there and "16 on each of four ranks, 64 in all" here is the most common way to get a factor of four. In that case it would be another model, shorter texts, or gradient accumulation that made it fit.
#
# The model matters as well. The same with two classes for each text in place of a score for every word, as in fine-tuning:

# %%
classifier = memory.Config(head="classes", length=512)
for way in ("DP", "DDP", "DDP, bucket views"):
    (fit,) = memory.fits_table((way,), ("Adam",), ("fp32",), (512,), classifier)
    print(f"{fit.config.way:18} fits {fit.batch} texts of 512 words")

# %% [markdown]
# Without large outputs it is DDP that fits *less*. Its buckets, in which gradients are exchanged, are as large as all gradients and stay for good, also in the forward, when DataParallel's home has no gradients at all (`zero_grad` frees them). And the forward is where memory runs out here. `gradient_as_bucket_view=True` has gradients live in the buckets and saves the second copy in backward; it cannot help in the forward. "DataParallel fills the home device" is true; "so DDP fits a larger batch" depends on the model. The widget recomputes all this for any choice:

# %%
memory_widget.show(memory.Config(length=512))

# %% [markdown]
# ### And three times as fast?
#
# Memory does not explain it, but traffic may. A rough estimate, with numbers that you can change: a training step costs about 6 operations for each parameter and word, 2 forward and 4 backward (Kaplan et al., 2020). A V100 for PCIe computes 14 · 10¹² operations a second in 32 bits, and one of its NVLinks carries 25 · 10⁹ bytes a second in each direction (NVIDIA's data sheet); 16 lanes of PCIe 3.0 carry 15.75 · 10⁹ (its specification). Let 60 % of the operations and three quarters of PCIe's bytes be reached. In DataParallel's step the bytes go one way at a time, and nothing else happens meanwhile. With DDP they go both ways, and hide behind backward as long as they are shorter.

# %%
PARAMETERS, WORDS, FLOPS, GPUS = 335e6, 512, 0.6 * 14e12, 4


def texts_per_second(way, batch, link):
    computing = 6 * PARAMETERS * WORDS * batch / GPUS / FLOPS
    home, ring = traffic(GPUS, batch, 4 * PARAMETERS, WORDS * 8, WORDS * 30522 * 4)
    if way == "DP":
        return batch / (computing + home / link)
    exposed = max(0, ring / 2 / link - computing * 2 / 3)  # both directions at once
    return batch / (computing + exposed)


for name, link in (("PCIe 3.0", 0.75 * 15.75e9), ("two NVLinks", 2 * 25e9)):
    dp, same, more = (
        texts_per_second(*what, link) for what in (("DP", 16), ("DDP", 16), ("DDP", 24))
    )
    print(
        f"{name:12} DP, 16 texts: {dp:.0f} a second; DDP with 16: {same / dp:.1f} times, with 24: {more / dp:.1f} times"
    )

# %% [markdown]
# So more than two and a half times as fast is what one should expect over PCIe, *with the same batch*: in DataParallel's step more time goes into moving weights and gradients through one link than into computing. Over a faster link the gain is smaller. With 24 texts DDP is no faster than with 16: in both its traffic hides behind backward, and what is left is computing, which takes as long for each text. The story's "almost three times" is not far off, and its reason is not the batch.
#
# This is an estimate, not a measurement. If you have two GPUs, measure: the last section does.

# %% [markdown]
# ## Measure it
#
# **A question:** how much fuller is home than the others? Divide its peak by another device's, with your own `data_parallel`, for 1, 100 and 10,000 rows on each of four devices. Before you run it: which way will the ratio go as the batch grows?


# %%
def how_full(rows, classes):
    with gpus(4, memory="4 GiB", compute=False) as devices:
        home = devices[0]
        model = a_model([400, 1000, 1000, classes]).to(home)
        optimizer = torch.optim.Adam(model.parameters(), foreach=False)
        for _ in range(2):  # in the second step Adam has its state
            optimizer.zero_grad()
            x = torch.zeros(rows, 400, device=home)
            y = torch.zeros(rows, dtype=torch.long, device=home)
            F.cross_entropy(data_parallel(model, x, list(devices)), y).backward()
            optimizer.step()
        return [ledger(device).peak for device in devices]


for classes in (10, 5000):
    for rows in (4, 400, 40_000):
        run = launch(how_full, 1, rows, classes)
        if run.ok:
            peaks = run.values[0]
            print(
                f"{classes:>5} classes, {rows:>6,} rows in all: {peaks[0] / peaks[1]:.1f} times as full as another"
            )
        else:
            print(run)

# %% [markdown]
# With few outputs the constant part (gradients, state) is diluted by activations, and the ratio falls in the end: from 3.5 to 1.3, with the reference answer. With 5,000 outputs it goes up, from 3.2 to 6.9: home holds the outputs of everybody, and they grow with the batch as activations do.
#
# ### On real GPUs
#
# If this machine has two GPUs or more, the next cell measures on them what the lesson has predicted: the peak of each GPU in a step of `nn.DataParallel` against the ledger's, and the time of a step on one GPU and on all.


# %%
def real_and_virtual(widths, rows):
    count = torch.cuda.device_count()
    peaks, seconds = {}, {}
    for ids in ([0], list(range(count))):
        model = a_model(widths).to("cuda:0")
        parallel = nn.DataParallel(model, ids)
        optimizer = torch.optim.Adam(model.parameters(), foreach=False)
        for number in range(6):
            if number == 2:  # warm, and Adam has its state
                for i in ids:
                    torch.cuda.reset_peak_memory_stats(i)
                    torch.cuda.synchronize(i)
                begin = time.perf_counter()
            optimizer.zero_grad()
            x = torch.zeros(rows, widths[0], device="cuda:0")
            y = torch.zeros(rows, dtype=torch.long, device="cuda:0")
            F.cross_entropy(parallel(x), y).backward()
            optimizer.step()
        for i in ids:
            torch.cuda.synchronize(i)
        seconds[len(ids)] = (time.perf_counter() - begin) / 4
        peaks[len(ids)] = [torch.cuda.max_memory_allocated(i) for i in ids]
    return peaks, seconds


if torch.cuda.device_count() >= 2:
    run = launch(real_and_virtual, 1, [4096, 8192, 8192, 4096], 4096, timeout=120)
    if run.ok:
        for count, peak in run.values[0][0].items():
            print(
                count,
                "GPUs:",
                *(f"{b / 1e6:,.0f} MB" for b in peak),
                f"{run.values[0][1][count] * 1e3:.0f} ms a step",
            )
    else:
        print(run)
else:
    print(f"This machine has {torch.cuda.device_count()} GPUs; nn.DataParallel needs two.")

# %% [markdown]
# ## Recap
#
# 1. DataParallel is one process: scatter, replicate, apply in threads, gather, and autograd brings the gradients back. Its gradients are exactly one device's.
# 2. Home alone has the gradients, the optimizer's state, and all rows' outputs with what the loss makes of them. Activations are shared; before you blame home, say which is larger: what home alone has, or its share of the activations.
# 3. Through home's link pass 2(n − 1) models in each step, and nothing hides them. A ring passes less than four, whatever n is.
# 4. A replica lives for one forward: what it sets on itself is lost, what it returns is gathered. Scalars become a vector, and their mean is right for equal pieces only.
# 5. Threads share one interpreter. A process for each GPU does not, and that is DDP: lesson 03.
#
# ## Where to read on
#
# - *DataParallel* and *Distributed Data Parallel*: PyTorch documentation. The former sends you to the latter, also on one machine.
# - *PyTorch Distributed: Experiences on Accelerating Data Parallel Training*: Shen Li et al., 2020. Why DDP was built.
# - *Training Neural Nets on Larger Batches: Practical Tips for 1-GPU, Multi-GPU & Distributed setups*: Thomas Wolf, 2018. The home device's outputs, and a DataParallel that computes the loss where they are.
# - *Scaling Laws for Neural Language Models*: Jared Kaplan et al., 2020. The 6 operations.
# - *BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding*: Jacob Devlin et al., 2018.
# - *Understanding the Python GIL*: David Beazley, 2010.
