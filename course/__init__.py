"""The course's own tools: real ranks, placement on this machine, and what they measure."""
