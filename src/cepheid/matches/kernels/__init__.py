"""Compiled loops over matches."""
