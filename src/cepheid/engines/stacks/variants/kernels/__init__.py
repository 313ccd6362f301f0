"""What the kernels of instance stacks call where a variant runs."""
