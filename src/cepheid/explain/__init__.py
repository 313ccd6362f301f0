"""Plans as text, automata as drawings, and why a query finds nothing."""
