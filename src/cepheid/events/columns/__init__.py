"""Columns of events: Arrow arrays, encoded values, strings, lists, expressions over columns."""
