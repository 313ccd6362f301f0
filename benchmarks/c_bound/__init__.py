"""The six queries of [Agrawal08 §6] by hand in C: what the same work could cost at least."""
