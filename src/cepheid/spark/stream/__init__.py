"""Queries over streaming DataFrames."""
