"""What a learner looks at and moves: pictures of what was measured, and widgets around them.

    from course.widgets import ring, timeline, deadlock

    ring.show(ring_all_reduce)      # the learner's own ring, step by step
    timeline.show()                 # a training step by rank, at any bucket size
    deadlock.show(run)              # who waits for whom, and at which line

Each widget has a plain matplotlib picture behind it (``draw_ring``, ``draw_timeline``,
``draw_deadlock``), which is what is shown where there is no browser or no ipywidgets. Nothing
is imported before it is used.
"""
