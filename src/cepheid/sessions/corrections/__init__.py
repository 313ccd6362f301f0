"""Sessions that accept late events and correct what they have reported."""
