"""The paper's alternative search methods, kept for comparison."""
