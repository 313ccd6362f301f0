"""Queries that read the composite events of other queries."""
