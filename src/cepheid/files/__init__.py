"""Files that are written, complete or not at all, and texts in YAML that are read."""
