"""The choice of the evaluation that runs a query, with the cost estimates behind it."""
