"""The compiled loops of the alternative algorithms."""
