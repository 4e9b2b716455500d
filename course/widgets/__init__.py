"""What a learner looks at and moves: pictures of what was measured, and widgets around them.

    from course.widgets import grid, hierarchy, occupancy, memory, dp_step, ring, timeline, deadlock

    grid.show("vec_add", n=100, blocks=3, threads=48)  # which thread touched which element
    hierarchy.show()                # registers to host memory, as this machine measures it
    occupancy.show(kernel)          # how many warps an SM holds, at any block size
    memory.show()                   # who holds what on each GPU, with DP or DDP
    dp_step.show()                  # one step of DataParallel: what moves between which devices
    ring.show(ring_all_reduce)      # the learner's own ring, step by step
    timeline.show()                 # a training step by rank, at any bucket size
    deadlock.show(run)              # who waits for whom, and at which line

Each widget has a plain matplotlib picture behind it (its module's ``draw_…``), which is what is
shown where there is no browser or no ipywidgets. Nothing is imported before it is used.
"""
