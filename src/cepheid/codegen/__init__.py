"""Queries as tables and generated predicates: what engines compile an alternative into."""
