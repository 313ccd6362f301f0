"""Output modes: which of the matches of a query are reported, one file per mode."""
