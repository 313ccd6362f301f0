"""Which events Spark sends to the workers if a component of the pattern is rare."""
