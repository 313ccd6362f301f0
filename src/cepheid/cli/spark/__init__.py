"""Commands that run on Spark."""
