"""Experiments 1, 2, 5 and 6 of [Agrawal08 §6], with the runs of NFA^b basic and merging."""
