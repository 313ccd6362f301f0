"""Queries that mean the same, or a part of the same, and that engines can run."""
