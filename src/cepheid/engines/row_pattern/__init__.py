"""Row patterns by backtracking over an automaton, with a memo of failures."""
