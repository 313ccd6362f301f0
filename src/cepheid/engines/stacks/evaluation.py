"""The registry entry of active instance stacks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cepheid.engines.base.evaluation import INSTANCE_STACKS, Evaluation
from cepheid.engines.base.options import DEFAULT_OPTIONS
from cepheid.engines.base.workload import UnitCosts, Workload, work_of
from cepheid.engines.stacks.plan import SequencePlan, better_than_stacks
from cepheid.engines.stacks.tables import compile_instance_stacks, refuse_instance_stacks

if TYPE_CHECKING:
    from cepheid.engines.base.engine import Engine, EngineTask

_VARIANTS = ("construction", "equivalence", "window")
"""The options that choose between the default and a variant."""


def _make_engine(task: EngineTask) -> Engine:
    from cepheid.engines.stacks.engine import InstanceStacksEngine
    from cepheid.engines.stacks.variants.engine import VariantStacksEngine

    stacks = compile_instance_stacks(task.query, task.alternative)
    if all(getattr(task.options, name) == getattr(DEFAULT_OPTIONS, name) for name in _VARIANTS):
        return InstanceStacksEngine(stacks, task)
    return VariantStacksEngine(stacks, task)


def _cost(workload: Workload) -> float:
    """Sequences are constructed from the last component back."""
    backwards = range(len(workload.events))[::-1]
    work = work_of(replace(workload, linked=frozenset()), [backwards])
    return UnitCosts(event=7.0, partial=0.2, test=0.6, match=0.5).total(workload, work)


STACKS_EVALUATION = Evaluation(
    INSTANCE_STACKS,
    "sequences scanned and constructed with active instance stacks",
    refuse_instance_stacks,
    _make_engine,
    better=better_than_stacks,
    cost=_cost,
    options=("construction", "equivalence", "window", "domains"),
    plan=lambda query, alternative, options: SequencePlan(query, alternative, options).lines(),
)
