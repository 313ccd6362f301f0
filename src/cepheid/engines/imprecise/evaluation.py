"""The registry entry of evaluation over uncertain times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cepheid.engines.base.evaluation import IMPRECISE, Evaluation
from cepheid.engines.imprecise.tables import refuse_imprecise

if TYPE_CHECKING:
    from cepheid.engines.base.query_session import QuerySession, SessionTask


def _make_run(task: SessionTask) -> QuerySession:
    from cepheid.engines.imprecise.session import ImpreciseSession

    return ImpreciseSession(task)


IMPRECISE_EVALUATION = Evaluation(
    IMPRECISE,
    "events with uncertain times: signatures with a range of time and a confidence",
    refuse_imprecise,
    make_run=_make_run,
    has_confidence=True,
)
