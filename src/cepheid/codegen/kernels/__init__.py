"""Compiled code that calls registered functions."""
