"""Shapes of results: long form, plain values and text, displays in notebooks."""
