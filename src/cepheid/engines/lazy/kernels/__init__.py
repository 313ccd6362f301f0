"""The compiled loops of lazy automata."""
