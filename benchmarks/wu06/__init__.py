"""The experiments of [Wu06 §5] with instance stacks, and what C does in the same time."""
