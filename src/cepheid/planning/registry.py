"""The evaluations there are, in the order in which ``auto`` prefers them."""

from __future__ import annotations

from cepheid.analysis.model import AnalysedQuery
from cepheid.codegen.sequences import refuse_nfa_b
from cepheid.engines.base.evaluation import (
    IMPRECISE,
    INSTANCE_STACKS,
    LAZY_CHAIN,
    LAZY_TREE,
    NFA_B,
    REFERENCE,
    Evaluation,
)
from cepheid.engines.imprecise.tables import refuse_imprecise
from cepheid.engines.lazy.compile import refuse_lazy
from cepheid.engines.stacks.plan import better_than_stacks
from cepheid.engines.stacks.tables import refuse_instance_stacks


def _never(_query: AnalysedQuery) -> str | None:
    return None


EVALUATIONS: tuple[Evaluation, ...] = (
    Evaluation(
        INSTANCE_STACKS,
        "sequences scanned and constructed with active instance stacks",
        refuse_instance_stacks,
        better=better_than_stacks,
    ),
    Evaluation(
        NFA_B,
        "runs of an automaton with a buffer, compiled to native code",
        refuse_nfa_b,
        has_automaton=True,
        has_compressed=True,
    ),
    Evaluation(
        LAZY_CHAIN,
        "instances that bind rare events first, in an order of frequency",
        refuse_lazy,
    ),
    Evaluation(
        LAZY_TREE,
        "instances that bind rare events first, in the order that each of them finds best",
        refuse_lazy,
    ),
    Evaluation(
        REFERENCE,
        "the definition of the language, executed: correct for every query, and slow",
        _never,
        has_session=False,
    ),
    Evaluation(
        IMPRECISE,
        "events with uncertain times: signatures with a range of time and a confidence",
        refuse_imprecise,
        weighs=True,
    ),
)
