"""Events whose times are known only within an interval: matches with a confidence [Zhang10]."""
