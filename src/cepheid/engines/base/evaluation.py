"""The description of an evaluation: its name, why it refuses queries, and its engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cepheid.analysis.model import AnalysedQuery
from cepheid.engines.base.workload import Workload

if TYPE_CHECKING:
    from cepheid.engines.base.engine import Engine, EngineTask
    from cepheid.engines.base.query_session import QuerySession, SessionTask

AUTO = "auto"
INSTANCE_STACKS = "instance_stacks"
NFA_B = "nfa_b"
LAZY_CHAIN = "lazy_chain"
LAZY_TREE = "lazy_tree"
IMPRECISE = "imprecise"
REFERENCE = "reference"
ROW_PATTERN = "row_pattern"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A way of running a query.

    ``refusal`` says in one sentence why it cannot run a query, or is None. ``make_engine`` makes
    the engine of one alternative, and loads its kernels only then. An evaluation that does not run
    alternatives separately has ``make_run`` instead, which makes the session of a whole query. The
    reference evaluation has neither: its session is made of the definition.
    ``has_automaton``: it runs the NFA^b of each alternative, which can be displayed.
    ``has_compressed``: matches can be returned as a structure without listing them. ``better``
    names an evaluation that ``auto`` prefers for a query, and says why. ``has_confidence``: times
    are uncertain and matches have a confidence. ``cost`` estimates the cost of one window of an
    alternative, for ``auto``. ``options`` are the names of the options that this evaluation reads
    and some others do not.
    """

    name: str
    summary: str
    refusal: Callable[[AnalysedQuery], str | None]
    make_engine: Callable[[EngineTask], Engine] | None = None
    make_run: Callable[[SessionTask], QuerySession] | None = None
    has_automaton: bool = False
    has_compressed: bool = False
    better: Callable[[AnalysedQuery], tuple[str, str] | None] = lambda _query: None
    has_confidence: bool = False
    cost: Callable[[Workload], float] | None = None
    options: tuple[str, ...] = ()
