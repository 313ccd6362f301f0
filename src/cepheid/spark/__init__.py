"""Queries over Spark DataFrames."""

from cepheid.spark.batch import match

__all__ = ["match"]
