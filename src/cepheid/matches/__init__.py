"""Matches: bindings, output modes, projection, ids and results."""
