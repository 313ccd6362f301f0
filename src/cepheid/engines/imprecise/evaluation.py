"""The registry entry of evaluation over uncertain times."""

from __future__ import annotations

from cepheid.engines.base.evaluation import IMPRECISE, Evaluation
from cepheid.engines.imprecise.tables import refuse_imprecise

IMPRECISE_EVALUATION = Evaluation(
    IMPRECISE,
    "events with uncertain times: signatures with a range of time and a confidence",
    refuse_imprecise,
    has_confidence=True,
)
