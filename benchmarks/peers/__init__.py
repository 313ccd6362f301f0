"""The same questions over the same events, asked of cepheid and of what one would use instead."""
