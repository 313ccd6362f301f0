"""Sets of named rules that run over one stream."""
