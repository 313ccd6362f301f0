"""Compiled loops of shared rules."""
