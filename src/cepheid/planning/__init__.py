"""Which evaluation runs a query, and what the plan looks like to a person."""
