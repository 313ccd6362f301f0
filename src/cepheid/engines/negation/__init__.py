"""Negated components: which matches an event violates."""
