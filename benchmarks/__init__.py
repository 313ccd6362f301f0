"""How fast cepheid is, and how much memory it takes: see docs/benchmarks.md."""
