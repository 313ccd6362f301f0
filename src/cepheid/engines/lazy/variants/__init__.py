"""The methods of [Kolchinsky17] that the main path of the lazy engine does without."""
