"""Compiled loops: tables and columns in, match indices out. Only NumPy and numba are used here."""
