"""The compiled loops of instance stacks."""
