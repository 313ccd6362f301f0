"""Fuzzers: hostile query texts, damaged snapshots and odd tables, each in a process of its own."""
