"""Queries over Spark DataFrames.

``query.match(frame)`` is all that most programs need; it calls :func:`match`.
"""

from cepheid.spark.batch import match
from cepheid.spark.sql import create_view, register

__all__ = ["create_view", "match", "register"]
