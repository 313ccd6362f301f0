"""The alternatives of [Wu06] to the default path: basic construction, Multi-PAIS, selection."""
