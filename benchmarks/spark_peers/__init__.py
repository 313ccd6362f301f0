"""The same patterns as cepheid, as Spark SQL, window functions and a Python loop."""
