"""Patterns over events with uncertain times, with confidences [Zhang10]."""
