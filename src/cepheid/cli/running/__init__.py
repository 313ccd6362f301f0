"""What commands run: rows, scripts and the demo."""
