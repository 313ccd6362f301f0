"""Clauses as programs for the engine ``row_pattern``, and the columns of their results."""
