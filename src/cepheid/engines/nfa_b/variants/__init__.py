"""Alternative algorithms of the paper, kept for comparison: backtracking, versioned buffer."""
