"""Events: where they come from, their order, their times and their partitions."""
