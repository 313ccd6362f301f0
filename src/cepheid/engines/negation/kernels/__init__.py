"""The compiled loops of negation."""
