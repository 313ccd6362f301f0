"""The registry entry of active instance stacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cepheid.engines.base.evaluation import INSTANCE_STACKS, Evaluation
from cepheid.engines.stacks.plan import better_than_stacks
from cepheid.engines.stacks.tables import compile_instance_stacks, refuse_instance_stacks

if TYPE_CHECKING:
    from cepheid.engines.base.engine import Engine, EngineTask


def _make_engine(task: EngineTask) -> Engine:
    from cepheid.engines.stacks.engine import InstanceStacksEngine

    return InstanceStacksEngine(compile_instance_stacks(task.query, task.alternative), task)


STACKS_EVALUATION = Evaluation(
    INSTANCE_STACKS,
    "sequences scanned and constructed with active instance stacks",
    refuse_instance_stacks,
    _make_engine,
    better=better_than_stacks,
)
