"""Queries over Spark DataFrames."""
