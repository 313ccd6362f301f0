"""Statements of SQL with ``MATCH_RECOGNIZE ( … )``, and its forms of expressions."""
