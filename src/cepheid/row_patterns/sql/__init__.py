"""SQL statements in which tables are followed by ``MATCH_RECOGNIZE ( … )``."""
