"""Lazy chain and tree automata, which bind rare events first [Kolchinsky17]."""
