"""Output modes: which matches of a query are reported. One file per mode."""
