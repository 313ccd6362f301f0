"""From events in Arrow columns to matches: sources, the time axis, stream order, encoding."""
