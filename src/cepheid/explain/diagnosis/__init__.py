"""Why a query finds nothing, or too little: how far its pattern gets, and what stops it."""

from cepheid.runtime.diagnosis.diagnosing import diagnose
from cepheid.runtime.diagnosis.report import Diagnosis

__all__ = ["Diagnosis", "diagnose"]
