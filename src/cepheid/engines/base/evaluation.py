"""The description of an evaluation: its name, why it refuses queries, and its engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cepheid.analysis.model import Alternative, AnalysedQuery
from cepheid.engines.base.options import Options
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
    ``has_confidence``: times are uncertain and matches have a confidence. ``better`` names an
    evaluation that ``auto`` prefers for a query, and says why. ``cost`` estimates the cost of one
    window of an alternative, for ``auto``.

    ``options`` are the names of the options that this evaluation reads and some others do not.
    ``refuse_options`` says why it cannot run a query with them, or is None. ``refuse_compressed``
    says why options do not allow matches that are returned as a structure without being listed; an
    evaluation without it has no such matches.

    For explain, ``sections`` are titles with lines about a query, and ``plan`` is the plan of an
    alternative.
    """

    name: str
    summary: str
    refusal: Callable[[AnalysedQuery], str | None]
    make_engine: Callable[[EngineTask], Engine] | None = None
    make_run: Callable[[SessionTask], QuerySession] | None = None
    has_automaton: bool = False
    has_confidence: bool = False
    better: Callable[[AnalysedQuery], tuple[str, str] | None] = lambda _query: None
    cost: Callable[[Workload], float] | None = None
    options: tuple[str, ...] = ()
    refuse_options: Callable[[AnalysedQuery, Options], str | None] = lambda *_: None
    refuse_compressed: Callable[[Options], str | None] | None = None
    sections: Callable[[AnalysedQuery, Options], Mapping[str, Iterable[str]]] = lambda *_: {}
    plan: Callable[[AnalysedQuery, Alternative, Options], Iterable[str]] | None = None

    @property
    def has_compressed(self) -> bool:
        """Whether matches can be returned as a structure without being listed."""
        return self.refuse_compressed is not None

    @property
    def is_engine(self) -> bool:
        """Whether an engine runs each alternative of a query."""
        return self.make_engine is not None

    @property
    def is_definition(self) -> bool:
        """Whether it is the definition of the language, executed."""
        return self.make_engine is None and self.make_run is None
