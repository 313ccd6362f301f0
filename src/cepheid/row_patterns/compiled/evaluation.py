"""Which evaluation runs a clause: the engine, or the reference where the engine cannot."""

from __future__ import annotations

from typing import cast

from cepheid.engines.base.evaluation import AUTO, REFERENCE, ROW_PATTERN
from cepheid.errors import EvaluationError, OptionError, list_words
from cepheid.row_patterns.columns import Binding
from cepheid.row_patterns.compiled.leaves import Untold
from cepheid.row_patterns.compiled.plan import Plan

EVALUATIONS = (AUTO, ROW_PATTERN, REFERENCE)


def check_evaluation(evaluation: str) -> None:
    """Raise an error if there is no such evaluation of row patterns."""
    if evaluation not in EVALUATIONS:
        raise OptionError(
            f"MATCH_RECOGNIZE has no evaluation {evaluation!r}; "
            f"there are {list_words(list(EVALUATIONS))}"
        )


def plan_of(binding: Binding, evaluation: str) -> Plan | str:
    """The program of a clause; or why the reference runs it.

    Raises:
        EvaluationError: the engine is asked for and cannot run the clause.
    """
    if evaluation == REFERENCE:
        return "it is asked for"
    if binding.plan is not None:  # Sessions ask for it with every batch.
        return cast("Plan", binding.plan)
    try:
        binding.plan = plan = Plan(binding.clause, binding.kinds.kind)
        return plan
    except Untold as reason:
        if evaluation == AUTO:
            return str(reason)
        raise EvaluationError(f"{ROW_PATTERN} cannot run this clause: {reason}") from None
