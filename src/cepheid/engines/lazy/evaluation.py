"""The registry entries of lazy chains and lazy trees."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cepheid.engines.base.evaluation import LAZY_CHAIN, LAZY_TREE, Evaluation
from cepheid.engines.base.workload import UnitCosts, Workload, best_order, work_of
from cepheid.engines.lazy.compile import compile_lazy, compile_shared, refuse_lazy
from cepheid.engines.lazy.sharing import shared_alternatives, sharing_lines

if TYPE_CHECKING:
    from cepheid.engines.base.engine import Engine, EngineTask


def _make_engine(task: EngineTask, is_tree: bool) -> Engine:
    from cepheid.engines.lazy.engine import LazyEngine
    from cepheid.engines.lazy.shared import SharedLazyEngine

    number = task.query.alternatives.index(task.alternative)
    for group in () if is_tree else shared_alternatives(task.query, task.options.negation):
        if number in group.numbers:
            if group.numbers not in task.shared:
                engine = LazyEngine(compile_shared(task.query, group), task, is_tree=False)
                task.shared[group.numbers] = SharedLazyEngine(engine, group)
            shared: SharedLazyEngine = task.shared[group.numbers]
            return shared.part(number, task.alternative.components)
    automaton = compile_lazy(task.query, task.alternative, task.options.negation)
    return LazyEngine(automaton, task, is_tree=is_tree)


def _chain_cost(workload: Workload) -> float:
    """One order is kept for all instances, which is bad where frequencies drift."""
    work = work_of(workload, [best_order(workload)])
    total = UnitCosts(event=16.0, partial=18.0, test=1.0, match=3.2).total(workload, work)
    return 2.0 * total if workload.drifts else total


def _tree_cost(workload: Workload) -> float:
    work = work_of(workload, [best_order(workload)])
    return UnitCosts(event=18.0, partial=20.0, test=1.1, match=3.2).total(workload, work)


LAZY_CHAIN_EVALUATION = Evaluation(
    LAZY_CHAIN,
    "instances that bind rare events first, in an order of frequency",
    refuse_lazy,
    partial(_make_engine, is_tree=False),
    cost=_chain_cost,
    options=("negation",),
    sections=lambda query, options: {"shared": sharing_lines(query, options.negation)},
)
LAZY_TREE_EVALUATION = Evaluation(
    LAZY_TREE,
    "instances that bind rare events first, in the order that each of them finds best",
    refuse_lazy,
    partial(_make_engine, is_tree=True),
    cost=_tree_cost,
    options=("negation",),
)
