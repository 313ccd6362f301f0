"""What a query says: names, kinds, alternatives, and where each condition can be tested."""
