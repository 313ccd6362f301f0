"""``MATCH_RECOGNIZE`` over rows that arrive in batches."""
