"""Lazy automata against eager ones: the experiments of [Kolchinsky17 §8]."""
