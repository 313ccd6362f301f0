"""A query whose events are divided among workers, by partition."""
