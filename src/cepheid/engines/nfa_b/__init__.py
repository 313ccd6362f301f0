"""NFA^b: runs of an automaton over a shared buffer [Agrawal08]."""
