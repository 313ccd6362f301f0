"""The query language: text to abstract syntax and back, and a builder in Python."""
