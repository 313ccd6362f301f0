"""Why a query finds nothing, or too little: how far its pattern gets, and what stops it."""

from cepheid.explain.diagnosis.diagnosing import diagnose
from cepheid.explain.diagnosis.report import Diagnosis

__all__ = ["Diagnosis", "diagnose"]
