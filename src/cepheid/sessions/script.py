"""The queries of a script with their text. A single query is a script of one.

This module loads neither NumPy nor Arrow, so that ``import cepheid`` does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cepheid.analysis.analyse import analyse
from cepheid.analysis.model import AnalysedQuery
from cepheid.analysis.scripts import (
    ScriptQuery,
    check_reserved,
    faults_of_made_types,
    kinds_of_items,
    link_queries,
    schema_read,
)
from cepheid.errors import QuerySemanticError
from cepheid.language import syntax as ast
from cepheid.language.printer import print_query
from cepheid.schema import Kind, Schema

if TYPE_CHECKING:
    from cepheid.events.read_options import ReadOptions
    from cepheid.events.time_axis import TimeAxis
    from cepheid.planning.choice import Choice
    from cepheid.sessions.run_settings import RunSettings


@dataclass(frozen=True, slots=True)
class Script:
    """Queries in the order in which they run; error messages quote ``text`` of ``source``.

    ``is_single`` distinguishes a single query from a script with one query. Results of a
    single query are not named, and its events may have uncertain times.
    """

    queries: tuple[ScriptQuery, ...]
    text: str
    source: str
    is_single: bool = False

    @classmethod
    def of_query(cls, tree: ast.Query, text: str, source: str) -> Script:
        """A single query.

        Raises:
            QuerySemanticError: the query makes no sense for any events.
        """
        script = cls((ScriptQuery("query", tree, (), is_read=False),), text, source, True)
        script.analysed(0, None)
        faults = [*faults_of_made_types([tree])]
        if faults:
            raise QuerySemanticError(faults, text, source)
        return script

    @classmethod
    def of_queries(cls, trees: Sequence[ast.Query], text: str, source: str) -> Script:
        """A script in which later queries read the composite events of earlier ones.

        Raises:
            QuerySemanticError: a query makes no sense, or reads composite events of its own
                or of a later query.
        """
        return cls(link_queries(trees, text, source), text, source)

    def __str__(self) -> str:
        return ";\n\n".join(print_query(each.query) for each in self.queries)

    def analysed(self, number: int, schema: Schema | None) -> AnalysedQuery:
        """A query analysed for events with this schema."""
        return analyse(self.queries[number].query, schema, self.text, self.source)

    def choose(
        self,
        query: AnalysedQuery,
        settings: RunSettings,
        *,
        in_batches: bool = False,
        compressed: bool = False,
    ) -> Choice:
        """The evaluation that runs an analysed query.

        Args:
            query: the query.
            settings: the evaluation, the uncertainty and the options that the user gave.
            in_batches: events arrive in batches, so that matches cannot be ranked.
            compressed: prefer evaluations that have a compressed output.
        """
        from cepheid.planning.choice import choose, choose_evaluation
        from cepheid.planning.registry import EVALUATIONS

        if not self.is_single:
            certain = [each for each in EVALUATIONS if not each.has_confidence]
            return choose_evaluation(query, settings.evaluation, certain)
        return choose(
            query,
            settings.evaluation,
            settings.read.uncertain,
            settings.options,
            in_batches=in_batches,
            compressed=compressed,
        )

    def window_ticks(self, number: int, axis: TimeAxis) -> int | None:
        """The extent of a query's WITHIN, in ticks of the time axis or in events."""
        window = self.queries[number].query.window
        if window is None:
            return None
        assert not isinstance(window.extent, ast.Parameter)
        if window.measure is ast.WindowMeasure.TIME:
            return axis.window_ticks(window.extent, window.unit)
        return int(window.extent)

    def check_reserved(self, read: ReadOptions) -> None:
        """Refuse items of composite events that have the name of the time or type column."""
        check_reserved(self.queries, read.time, read.type, self.text, self.source)

    def schema_read(self, number: int, events: Schema, kinds: dict[int, dict[str, Kind]]) -> Schema:
        """The schema of the events that a query reads.

        ``kinds`` has the kinds of the composite events' attributes, by the query's number.
        """
        return schema_read(number, self.queries, events, kinds, self.text, self.source)

    def schemas(self, events: Schema | None, read: ReadOptions) -> Sequence[Schema | None]:
        """The schema of the events that each query reads; None if the input schema is unknown."""
        if events is None:
            return [None] * len(self.queries)
        self.check_reserved(read)
        schemas: list[Schema] = []
        kinds: dict[int, dict[str, Kind]] = {}
        for number, each in enumerate(self.queries):
            schema = self.schema_read(number, events, kinds)
            schemas.append(schema)
            if each.is_read:
                kinds[number] = kinds_of_items(each, schema, read.time, read.type)
        return schemas
