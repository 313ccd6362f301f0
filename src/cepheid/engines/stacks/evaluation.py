"""The registry entry of active instance stacks."""

from __future__ import annotations

from cepheid.engines.base.engine import Engine, EngineTask
from cepheid.engines.base.evaluation import INSTANCE_STACKS, Evaluation
from cepheid.engines.base.options import DEFAULT_OPTIONS
from cepheid.engines.stacks.plan import better_than_stacks
from cepheid.engines.stacks.tables import compile_instance_stacks, refuse_instance_stacks

_VARIANTS = ("construction", "equivalence", "window")
"""The options that choose between the default and a variant."""


def _make_engine(task: EngineTask) -> Engine:
    from cepheid.engines.stacks.engine import InstanceStacksEngine
    from cepheid.engines.stacks.variants.engine import VariantStacksEngine

    stacks = compile_instance_stacks(task.query, task.alternative)
    if all(getattr(task.options, name) == getattr(DEFAULT_OPTIONS, name) for name in _VARIANTS):
        return InstanceStacksEngine(stacks, task)
    return VariantStacksEngine(stacks, task)


STACKS_EVALUATION = Evaluation(
    INSTANCE_STACKS,
    "sequences scanned and constructed with active instance stacks",
    refuse_instance_stacks,
    _make_engine,
    better=better_than_stacks,
)
