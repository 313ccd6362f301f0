"""The compiled loops for uncertain times."""
