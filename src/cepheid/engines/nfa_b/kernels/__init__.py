"""The compiled loops of NFA^b."""
