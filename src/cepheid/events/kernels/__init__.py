"""Compiled loops over columns of events."""
