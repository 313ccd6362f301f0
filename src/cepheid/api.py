"""The public interface: ``cep.query(text)`` and the methods of a query."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from cepheid.analysis.limits import check_limits
from cepheid.compiled import CompiledSingle
from cepheid.engines.base.evaluation import AUTO, INSTANCE_STACKS, NFA_B, REFERENCE
from cepheid.engines.base.options import BASIC, READING, TEXT_KEYWORDS, VERSIONED
from cepheid.errors import DEFAULT_SOURCE, EvaluationError, OptionError
from cepheid.events.read_options import ReadKeywords
from cepheid.events.sources.spark_frames import SPARK, are_spark_frames, refuse_streams
from cepheid.language import syntax as ast
from cepheid.language.builder import PatternBuilder
from cepheid.language.grouping import NO_GROUPS, GroupBy, with_groups
from cepheid.language.limits import read_limits
from cepheid.language.naming import ParameterValue
from cepheid.language.parser import NO_PARAMETERS, check_characters, parse
from cepheid.language.printer import print_query
from cepheid.row_patterns.parser import is_row_pattern
from cepheid.row_patterns.parser import parse as parse_rows
from cepheid.row_patterns.query import RowPatternQuery, no_clause_here
from cepheid.schema import schema_of
from cepheid.sessions.run_settings import MatchKeywords, RunSettings
from cepheid.sessions.script import Script
from cepheid.visible import html_text, said, shortened

if TYPE_CHECKING:
    from cepheid.events.events import Events
    from cepheid.explain.diagnosis import Diagnosis
    from cepheid.matches.compressed import CompressedMatches
    from cepheid.matches.match_stream import MatchStream
    from cepheid.matches.matches import Matches
    from cepheid.sessions.plan import PlannedQuery

_NOT_EXPLAINED = [name for name in (*READING, *TEXT_KEYWORDS) if name not in ("time", "evaluation")]
"""The keywords of ``match`` on which a plan does not depend."""


def query(
    text: str | ast.Query | PatternBuilder,
    *,
    parameters: Mapping[str, ParameterValue] = NO_PARAMETERS,
    group_by: GroupBy = NO_GROUPS,
    source: str = DEFAULT_SOURCE,
    limits: Mapping[str, int] | None = None,
) -> CompiledQuery | RowPatternQuery:
    """A query from its text, or from a pattern built in Python.

    The text is a SASE+ query, or SQL's ``MATCH_RECOGNIZE ( … )``, which may have
    ``SELECT * FROM name`` before it.

    Args:
        text: the query.
        parameters: values of the bare names in it, such as T in ``a.price > T``.
        group_by: attributes in which the events of a list agree: ``{"b": "x"}`` is the same as
            the condition ``b[i].x = b[i-1].x``, and ``{"b": ["x", "y"]}`` is two such conditions.
        source: the name of the text in error messages, for instance its file name.
        limits: other limits than the defaults, such as ``{"components": 500}``; see the page on
            limits.

    Raises:
        LimitError: the query is too large.
        QuerySyntaxError: the query text does not parse.
        QuerySemanticError: the query has no meaning for any events.

    >>> q = query("PATTERN SEQ(A a, B b) WHERE a.x < T WITHIN 10", parameters={"T": 3})
    >>> events = {"ts": [1, 2, 3], "type": ["A", "A", "B"], "x": [5, 2, 9]}
    >>> q.match(events).bindings()
    [{'a': 1, 'b': 2}]
    """
    if isinstance(text, str) and is_row_pattern(text):
        if group_by:
            raise OptionError("group_by is for SASE+ queries: MATCH_RECOGNIZE has PARTITION BY")
        clause = parse_rows(text, source, parameters, read_limits(limits))
        return RowPatternQuery(clause, text, source)
    return sase_query(text, parameters=parameters, group_by=group_by, source=source, limits=limits)


def sase_query(
    text: str | ast.Query | PatternBuilder,
    *,
    parameters: Mapping[str, ParameterValue] = NO_PARAMETERS,
    group_by: GroupBy = NO_GROUPS,
    source: str = DEFAULT_SOURCE,
    limits: Mapping[str, int] | None = None,
) -> CompiledQuery:
    """A SASE+ query, for what runs no other; arguments as for :func:`query`."""
    if isinstance(text, PatternBuilder):
        text = text.build()
    allowed = read_limits(limits)
    if isinstance(text, ast.Query):
        check_limits([text], allowed)
        grouped = with_groups(text, group_by)
        printed = print_query(grouped)
        check_characters(printed, source)
        return CompiledQuery(grouped, printed, source)
    if not isinstance(text, str):
        raise OptionError(f"a query is a string or a built pattern, not {type(text).__name__}")
    if is_row_pattern(text):
        raise no_clause_here()
    tree = parse(text, source, parameters, allowed)
    check_limits([tree], allowed)
    return CompiledQuery(with_groups(tree, group_by), text, source)


def read_query(
    path: str | Path,
    *,
    parameters: Mapping[str, ParameterValue] = NO_PARAMETERS,
    group_by: GroupBy = NO_GROUPS,
    limits: Mapping[str, int] | None = None,
) -> CompiledQuery | RowPatternQuery:
    """A query from a file, usually called ``something.sase`` or ``something.sql``.

    The other arguments are those of :func:`query`.
    """
    text = read_text(path)
    source = Path(path).name
    return query(text, parameters=parameters, group_by=group_by, source=source, limits=limits)


def read_text(path: str | Path) -> str:
    """The text of a file with a query or a script, without a byte order mark."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        looks_like_text = re.match(r"\s*(pattern|event|from)\s", str(path), re.IGNORECASE)
        hint = ". It is the text of a query: use query(), or -q on the command line"
        raise OptionError(
            f"cannot read the query {shortened(str(path))!r}: {error.strerror}"
            f"{hint if looks_like_text else ''}"
        ) from None
    except UnicodeDecodeError:
        raise OptionError(f"cannot read the query {str(path)!r}: it is not UTF-8 text") from None
    except (TypeError, ValueError):  # such as a NUL in the name
        raise OptionError(f"{said(path)} is not the path of a query") from None


class CompiledQuery(CompiledSingle):
    """A query that can be run. Make one with :func:`query`."""

    def __init__(self, tree: ast.Query, text: str, source: str) -> None:
        super().__init__(Script.of_query(tree, text, source))

    @property
    def tree(self) -> ast.Query:
        """The abstract syntax of the query."""
        return self.script.queries[0].query

    def __repr__(self) -> str:
        return f"cepheid.query({str(self)!r})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the query, and its automaton if it has one."""
        text = f"<pre>{html_text(str(self))}</pre>"
        try:
            return text + self.automaton("svg")
        except EvaluationError:
            return text

    def explain(
        self,
        schema: Any = None,
        *,
        time: str | tuple[str, str] = "ts",
        evaluation: str = AUTO,
        bounds: bool = False,
        **options: Any,
    ) -> str:
        """How the query is understood, and which evaluation runs it.

        ``schema`` is an Arrow schema, a :class:`~cepheid.Schema`, or a mapping of each type to
        its attributes; with it, attributes and kinds are checked too. ``time`` matters only if
        times are uncertain. With ``bounds`` the text also says how many runs or instances there
        can be at a time, and where runs branch. ``options`` are those of :meth:`match`. For a Spark
        DataFrame the text also says how its events go to the workers.

        >>> print(query("PATTERN SEQ(A a, B b) WHERE [id] AND a.x < b.x").explain())
        PATTERN SEQ(A a, B b)
        WHERE [id] AND a.x < b.x
        <BLANKLINE>
        evaluation:
          instance_stacks: sequences scanned and constructed with active instance stacks
        selection strategy:
          skip_till_any_match
        pattern:
          A a
          B b
          partition key: a.id = b.id (equivalence test)
        plan:
          transformation: the variables of each match
            sequence scan and construction: active instance stacks
              scan: A a
              scan: B b
              scan: stacks partitioned by a.id = b.id (PAIS, the only key)
              construction: a.x < b.x, when a is bound
        """
        from cepheid.explain.explain import explain  # it compiles tables, which needs NumPy

        if are_spark_frames(schema):
            return str(
                import_module(SPARK).explain(
                    self, schema, time=time, evaluation=evaluation, bounds=bounds, **options
                )
            )
        settings = self.settings(
            {**options, "time": time, "evaluation": evaluation}, without=_NOT_EXPLAINED
        )
        analysed = self.script.analysed(0, schema_of(schema))
        choice = self.script.choose(analysed, settings)
        read = settings.read
        return explain(choice, settings.options, read.time, read.uncertain, bounds=bounds)

    def automaton(
        self,
        format: str = "mermaid",
        *,
        schema: Any = None,
        evaluation: str = AUTO,
        statistics: Mapping[str, float] | None = None,
        basic: bool = False,
    ) -> str:
        """The automata that run the query, as a drawing.

        Args:
            format: ``mermaid`` for a Mermaid flowchart, ``svg`` for a picture.
            schema: as for :meth:`explain`.
            evaluation: ``nfa_b``, ``lazy_chain`` or, for at most four components, ``lazy_tree``;
                ``auto`` is one of the first two.
            statistics: for lazy_chain, the number of events of a type or variable in a window,
                which decides the order of the states; by default they are in pattern order.
            basic: for nfa_b, whether to show the formulas before they are optimised: the window
                is tested on the last edge only, and runs leave lists without looking at an event.

        Raises:
            EvaluationError: the evaluation does not run the query.
            OptionError: another evaluation than nfa_b has no basic formulas.

        >>> drawing = query("PATTERN SEQ(A a, B+ b[]) WITHIN 10").automaton("svg")
        >>> drawing[:4], "θ_b[i]_take" in drawing
        ('<svg', True)
        """
        from cepheid.explain.drawing import check_drawing, draw, drawn_evaluation

        check_drawing(format, evaluation)
        analysed = self.script.analysed(0, schema_of(schema))
        chosen = drawn_evaluation(analysed, evaluation, statistics)
        self.script.choose(analysed, RunSettings(evaluation=chosen))
        return draw(analysed, format, chosen, statistics, is_basic=basic)

    def stacks(self, events: Any, **keywords: Unpack[ReadKeywords]) -> str:
        """A picture, in SVG, of the instance stacks after at most 60 events.

        It shows the instances on the stack of each component, and marks those that are part of a
        match which the last event completes. The keywords describe the events, as for
        :meth:`match`.

        Raises:
            EvaluationError: instance_stacks does not run the query, for instance because it has
                a Kleene component.

        >>> q = query("PATTERN SEQ(A a, B b, D d)")
        >>> drawing = q.stacks({"ts": [1, 2, 3], "type": ["A", "B", "D"]})
        >>> drawing[:4], "D@3 completes a match: A@1 B@2 D@3" in drawing
        ('<svg', True)
        """
        from cepheid.explain.stack_pictures import draw_standing_stacks

        settings = self.settings(keywords, without=["evaluation", "output", "whole_events"])
        settings = replace(_with_rows_only(settings), evaluation=INSTANCE_STACKS)
        return draw_standing_stacks(*self._planned(events, settings))

    def buffer(self, events: Any, **keywords: Unpack[ReadKeywords]) -> str:
        """A picture, in SVG, of the shared versioned buffer after at most 60 events.

        It shows what the runs of ``nfa_b`` have selected in each state, and the versions of their
        pointers. The keywords describe the events, as for :meth:`match`.

        Raises:
            EvaluationError: nfa_b does not run the query, for instance because it has an AND.

        >>> q = query("PATTERN SEQ(A a, B+ b[], C c)")
        >>> drawing = q.buffer({"ts": [1, 2, 3], "type": ["A", "B", "B"]})
        >>> drawing[:4], "run 1.0.1: in state b[i], has selected B@2 last" in drawing
        ('<svg', True)
        """
        from cepheid.explain.buffer_pictures import draw_versioned_buffer

        settings = self.settings(keywords, without=["evaluation", "output", "whole_events"])
        settings = _with_rows_only(settings)
        options = replace(settings.options, algorithm=BASIC, buffer=VERSIONED)
        settings = replace(settings, evaluation=NFA_B, options=options)
        return draw_versioned_buffer(*self._planned(events, settings))

    @overload
    def match(
        self, events: Any, *, output: Literal["compressed"], **keywords: Any
    ) -> CompressedMatches: ...

    @overload
    def match(self, events: Any, *, output: str | None = None, **keywords: Any) -> Matches: ...

    def match(
        self,
        events: Any,
        *,
        time: str | tuple[str, str] = "ts",
        type: str | None = "type",
        tie_break: str | Sequence[str] | None = None,
        evaluation: str = AUTO,
        output: str | None = None,
        at_most_once_per: float | str | timedelta | None = None,
        timed_out: bool | None = None,
        time_unit: str | None = None,
        schema: Any = None,
        whole_events: bool | None = None,
        **options: Any,
    ) -> Matches | CompressedMatches:
        """All matches of the query over the events.

        Args:
            events: an Arrow table or batch, a pandas or Polars frame, a mapping of columns, the
                path of a Parquet, CSV or JSON Lines file, a folder, glob or list of such files, or
                a mapping of type to such a table.
                For a Spark DataFrame the result is a DataFrame: see :mod:`cepheid.spark`.
            time: the column with the time of an event: integer, float, timestamp, date, or a
                string in ISO 8601; or two columns with its earliest and its latest possible time.
            type: the column with the type of an event; not needed with a table per type.
            tie_break: the column or columns that order events of equal time; by default their
                row order.
            evaluation: ``auto`` or the name of an evaluation.
            output: which matches are reported: ``all``, ``first``, ``longest``, ``leftmost`` or
                ``non_overlapping``, or ``compressed``: matches that can be counted, sampled and
                listed without having been built. By default what the clause OUTPUT says, or all.
            at_most_once_per: leave out matches that end less than this after the last one
                reported in their partition: a number in units of the time column, a string such
                as ``"5 seconds"`` or a timedelta. ``metrics.left_out`` counts them.
            timed_out: also report, for each event that could begin a match and begins none, its
                furthest partial match when its window has passed; the column ``timed_out`` is
                true for these.
            time_unit: the unit of a numeric time column, such as ``ms``.
            schema: the attributes of each type, if not every type has every column.
            whole_events: which columns of Parquet files are read. By default those that the query
                names, or all if it returns whole events, as it does without RETURN. True: all,
                for ``with_events()``. False: only those that the query names; the events of a
                match have no others.
            options: ``options`` is a mapping with variants of an evaluation, such as
                ``{"algorithm": "basic"}``. For nfa_b: ``algorithm`` (``merging``, ``basic`` or
                ``backtrack``) and ``buffer`` (``unions`` or ``versioned``). For instance_stacks:
                ``construction`` (``ais`` or ``basic``), ``equivalence`` (``dynamic``,
                ``multi_pais``, ``pais`` or ``selection``) and ``window`` (``scan``,
                ``construction`` or ``selection``). For the lazy evaluations: ``negation``
                (``auto``, ``first_chance`` or ``post_processing``). For imprecise: ``method``.
                Other keywords are ``statistics``, by which ``auto`` chooses: the number of events
                of a type or variable in a window, and how often conditions hold, such as
                ``{"A": 0.1, "B": 5, "a.x < b.x": 0.2}``; ``workers``, the number of threads among
                which the partitions of ``[id]`` or another key are divided; ``domains``, the
                number of values of attributes, such as ``{"id": 10_000}``; and the limits
                ``max_runs``, ``max_matches`` and ``max_memory``, such as ``"2 GiB"``. For
                uncertain times:
                ``uncertainty``, ``probabilities``, ``granularity``, ``max_uncertainty``,
                ``min_confidence`` and ``top_k``; see the guide on uncertain times. For text files
                and times that are strings: ``sep``, the separator of CSV, and ``time_format``,
                such as ``"%d/%m/%Y %H:%M:%S"``.

        >>> q = query("PATTERN SEQ(Shelf a, ~(Register b), Exit c) WHERE [tag] WITHIN 12 hours")
        >>> events = {
        ...     "ts": [0, 5, 9, 12],
        ...     "type": ["Shelf", "Shelf", "Register", "Exit"],
        ...     "tag": [7, 8, 8, 7],
        ... }
        >>> q.match(events, time_unit="minutes").bindings()
        [{'a': 0, 'c': 3}]
        """
        keywords = {
            "time": time,
            "type": type,
            "tie_break": tie_break,
            "evaluation": evaluation,
            "output": output,
            "at_most_once_per": at_most_once_per,
            "timed_out": timed_out,
            "time_unit": time_unit,
            "schema": schema,
            **options,
        }
        from cepheid.matches.modes.registry import all_outputs

        if are_spark_frames(events):
            return import_module(SPARK).match(self, events, **keywords)  # type: ignore[no-any-return]
        keywords["whole_events"] = whole_events
        settings = self.settings(keywords, outputs=all_outputs())
        if settings.requested.of(self.tree).rule().mode.needs_buffer:
            from cepheid.sessions.run import run_compressed

            if settings.options.workers > 1:
                raise OptionError(
                    "compressed output is one structure, which is not divided among workers; "
                    "leave workers out"
                )
            return run_compressed(*self._planned(events, settings, compressed=True))
        (answer,) = self.run(events, settings)
        return answer.matches

    def match_stream(self, events: Any, **keywords: Unpack[MatchKeywords]) -> MatchStream:
        """The matches of the query, computed while they are read: for more than fit in memory.

        The keywords are those of :meth:`match`. A limit such as ``max_matches`` raises its error
        when it is reached, in the middle of reading.

        >>> q = query("PATTERN SEQ(A a, B+ b[], C c)")
        >>> events = {"ts": list(range(22)), "type": ["A", *["B"] * 20, "C"]}
        >>> sum(batch.num_rows for batch in q.match_stream(events).to_batches())
        1048575
        """
        from cepheid.sessions.run import run_stream

        return run_stream(*self._planned(events, self.settings(keywords)))

    def count(self, events: Any, **keywords: Unpack[MatchKeywords]) -> int:
        """The exact number of matches, computed without building them if possible.

        The keywords are those of :meth:`match`. Matches of a query with a negation or OR are
        built, a part at a time, because each must be checked. Matches over a Spark DataFrame
        that is not streaming are built and counted by Spark.

        >>> q = query("PATTERN SEQ(A a, B+ b[], C c)")
        >>> q.count({"ts": list(range(72)), "type": ["A", *["B"] * 70, "C"]})
        1180591620717411303423
        """
        if are_spark_frames(events):
            refuse_streams(events)
            return int(import_module(SPARK).match(self, events, **keywords).count())
        from cepheid.sessions.run import run_count

        settings = _with_rows_only(self.settings(keywords, without=["whole_events"]))
        return run_count(*self._planned(events, settings, compressed=True))

    def diagnose(self, events: Any, **keywords: Unpack[MatchKeywords]) -> Diagnosis:
        """Why the query finds nothing, or too little: print it.

        For each component it shows how many events fit and how many partial matches reached it,
        what stopped those that got furthest, and what is probably wrong. The keywords are those
        of :meth:`match`. The work is bounded, however many events there are; if a limit is
        reached, the diagnosis says so.

        >>> q = query("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 10")
        >>> print(q.diagnose({"ts": [1, 2], "type": ["A", "B"], "id": ["x", "X"]}))
        PATTERN SEQ(A a, B b)
        WHERE [id]
        WITHIN 10
        <BLANKLINE>
        No match among 2 events.
        ...
        """
        from cepheid.events.partition_positions import with_partition_positions
        from cepheid.explain.diagnosis import diagnose

        settings = self.settings(keywords, without=["output", "whole_events"])
        read, evaluation = settings.read, settings.evaluation
        if read.uncertain is not None:
            raise OptionError(
                "diagnose follows partial matches in one order of the events, and uncertain times "
                f"allow many; see what happens in one of them with time={read.time!r} alone. match "
                "finds a match of a possible world however small its confidence: leave out "
                "WITH CONFIDENCE and min_confidence"
            )
        ordered = read.order(events)
        analysed = self.script.analysed(0, ordered.schema)
        self.script.choose(analysed, RunSettings(read, evaluation))
        window = self.script.window_ticks(0, ordered.time_axis)
        ordered = with_partition_positions(analysed, ordered)
        return diagnose(self.tree, ordered, window, compiled=evaluation != REFERENCE)

    def _planned(
        self, source: Any, settings: RunSettings, *, compressed: bool = False
    ) -> tuple[PlannedQuery, Events]:
        """What runs the query, and the events in order."""
        events, (planned,) = self._read(source, settings, compressed=compressed)
        return planned, planned.positioned(events)


def _with_rows_only(settings: RunSettings) -> RunSettings:
    """The settings, to read only the columns that the query tests."""
    return replace(settings, read=replace(settings.read, whole_events=False))
