"""How fast cepheid is, and how much memory it takes: see docs/results/benchmarks.md."""
