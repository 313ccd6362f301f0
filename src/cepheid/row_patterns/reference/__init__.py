"""The definition of ``MATCH_RECOGNIZE``, executed on the syntax tree: slow and obvious."""
