"""The settings with which a Python worker runs a query or a script: plain values and functions."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING

import pyarrow as pa

from cepheid.aggregates import AGGREGATES, BUILT_IN, Aggregate
from cepheid.api import CompiledQuery, sase_query
from cepheid.budget import Available
from cepheid.codegen.registered import register_function, registered_python
from cepheid.engines.base.options import memory_limit
from cepheid.errors import OptionError
from cepheid.functions import REGISTERED
from cepheid.language import syntax as ast
from cepheid.language.computed import deep_nodes
from cepheid.language.limits import NO_LIMITS
from cepheid.matches.modes.mode import OutputMode
from cepheid.matches.modes.registry import added_mode, all_outputs, register_mode
from cepheid.scripts import CompiledScript, script
from cepheid.sessions.run_settings import RunSettings

if TYPE_CHECKING:
    from cepheid.spark.worker.worker_session import WorkerSession


@dataclass(frozen=True)
class Additions:
    """Functions, aggregates and an output mode that are not built in, and that queries use."""

    functions: Mapping[str, FunctionType] = field(default_factory=dict)
    aggregates: tuple[Aggregate, ...] = ()
    mode: OutputMode | None = None

    @classmethod
    def used_by(cls, trees: Iterable[ast.Node], output: str | None) -> Additions:
        """The additions that these queries use with this output."""
        nodes = [node for tree in trees for node in deep_nodes(tree)]
        called = {node.function for node in nodes if isinstance(node, ast.Call)}
        found = {name: registered_python(name) for name in sorted(called)}
        names = {node.function for node in nodes if isinstance(node, ast.Aggregate)} - BUILT_IN
        return cls(
            {name: function for name, function in found.items() if function is not None},
            tuple(AGGREGATES[name] for name in sorted(names)),
            None if output is None else added_mode(output),
        )

    def register(self) -> None:
        """Register the missing additions in this process."""
        for name, function in self.functions.items():
            if name not in REGISTERED:
                register_function(name, function)
        for aggregate in self.aggregates:
            AGGREGATES.setdefault(aggregate.name, aggregate)
        if self.mode is not None and self.mode.name not in all_outputs():
            register_mode(self.mode)


@dataclass(frozen=True)
class WorkerSettings:
    """A query or a script and how it is run, as it travels to the workers.

    Spark pickles it with the function that it ships; sessions and their state are never pickled.
    ``text`` contains the values of parameters. ``ties`` are the columns that order events of
    equal time: the columns that the user named, or else all that Spark can sort by. ``columns`` are
    the columns that the queries need. ``result_schema`` is the schema of the matches.
    ``has_session`` is whether the events of a DataFrame are fed in batches: the reference
    evaluation reads them faster together. ``may_be_first`` is whether the definition may run for
    few events in a worker that has compiled nothing. ``additions`` are registered in the
    driver and used by the queries: a worker is another process, and must register them too.
    """

    text: str
    run: RunSettings
    ties: tuple[str, ...]
    columns: tuple[str, ...]
    result_schema: pa.Schema
    is_script: bool = False
    match_id: bool = False
    has_session: bool = True
    additions: Additions = field(default_factory=Additions)
    may_be_first: bool = False

    @property
    def time(self) -> str:
        """The column with the time of an event."""
        return self.run.read.time

    @property
    def type(self) -> str:
        """The column with the type of an event."""
        assert self.run.read.type is not None
        return self.run.read.type

    def run_here(self) -> RunSettings:
        """How the query is run in this worker: its share of the machine's memory is its limit."""
        limit = memory_here(self.run.options.max_memory)
        return replace(self.run, options=replace(self.run.options, max_memory=limit))

    def tie_values(self, events: pa.Table) -> list[pa.ChunkedArray]:
        """What events of equal time are ordered by."""
        return [events.column(name) for name in self.ties]

    def worker(self, snapshot: bytes | memoryview | None = None) -> WorkerSession:
        """A session of a stream in this process: a new one, or that of a snapshot."""
        from cepheid.spark.worker.worker_session import WorkerSession

        return WorkerSession(self, snapshot)

    def compiled(self) -> CompiledQuery | CompiledScript:
        """The query or the script, compiled in this process."""
        begin_worker([self.additions])
        # The driver has checked the limits that the user gave.
        compiled = script if self.is_script else sase_query
        return compiled(self.text, limits=NO_LIMITS)


def memory_here(given: object) -> int | None:
    """The memory that a run in a worker may take: as given, or its share of the machine's."""
    limit = memory_limit(given)
    # A machine runs about as many workers as it has cores.
    return Available.now().limit(workers=os.cpu_count() or 1) if limit is None else limit


def begin_worker(additions: Iterable[Additions]) -> None:
    """Check how this process imports cepheid, and register what its queries use."""
    refuse_zip_file()
    for each in additions:
        each.register()


def refuse_zip_file() -> None:
    """Refuse to run where cepheid is imported from inside a zip file, as by ``--py-files``.

    Raises:
        OptionError: the grammar cannot be read there, and compiled code cannot be cached.
    """
    if not Path(__file__).is_file():
        raise OptionError(
            "cepheid cannot run from inside a zip file, as --py-files and addPyFile ship it; ship "
            "it as an archive, which Spark unpacks: spark.archives=cepheid.zip#shipped and "
            "spark.executorEnv.PYTHONPATH=shipped"
        )
