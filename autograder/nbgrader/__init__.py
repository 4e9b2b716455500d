"""What nbgrader runs for this course: see nbgrader_config.py, which names each part.

Grading starts no kernel. A submission is read as it comes (``exporter``, ``reading``), its answers
are put into the released notebook (``transplant``), and each of these is judged (``judging``).
"""
