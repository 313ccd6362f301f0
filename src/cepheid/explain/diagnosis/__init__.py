"""Explains why a query finds no or too few matches: where partial matches stop, and why."""

from cepheid.explain.diagnosis.diagnosing import diagnose
from cepheid.explain.diagnosis.report import Diagnosis

__all__ = ["Diagnosis", "diagnose"]
