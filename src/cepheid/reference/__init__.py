"""The definition of the language, executed. Every other evaluation is tested against it."""
