"""Uncertain times: the synthetic experiments of [Zhang10 §6.1]."""
