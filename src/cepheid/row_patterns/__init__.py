"""SQL's row pattern recognition: ``MATCH_RECOGNIZE ( … )`` over the rows of a table."""
