"""The compiled loops of the alternative search methods."""
