"""Compiled helpers that the kernels of several engines call."""
