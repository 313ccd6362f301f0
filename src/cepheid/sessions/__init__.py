"""A query or script over a stream: sessions, snapshots of their state, whole runs."""
