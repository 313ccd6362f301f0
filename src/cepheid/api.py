"""The front door: ``cep.query(text)`` and what can be done with a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from cepheid.engines.base.evaluation import (
    AUTO,
    INSTANCE_STACKS,
    REFERENCE,
    Evaluation,
)
from cepheid.engines.base.options import DEFAULT_OPTIONS, Options, read_options
from cepheid.errors import DEFAULT_SOURCE, EvaluationError, OptionError
from cepheid.events.sources.spark_frames import SPARK, are_spark_frames, refuse_streams
from cepheid.events.uncertain_time import UncertainTime, split_uncertain_time
from cepheid.explain.explain import explain
from cepheid.language import syntax as ast
from cepheid.language.builder import PatternBuilder
from cepheid.language.grouping import NO_GROUPS, GroupBy, with_groups
from cepheid.language.naming import ParameterValue
from cepheid.language.parser import NO_PARAMETERS, parse
from cepheid.language.printer import print_query
from cepheid.matches.modes.registry import check_output, output_mode
from cepheid.preparation import Preparation, Reading, choose
from cepheid.schema import schema_of

if TYPE_CHECKING:
    from cepheid.analysis.model import AnalysedQuery
    from cepheid.events.events import Events
    from cepheid.explain.diagnosis import Diagnosis
    from cepheid.matches.compressed import CompressedMatches
    from cepheid.matches.match_stream import MatchStream
    from cepheid.matches.matches import Matches
    from cepheid.sessions.stream import StreamSession


def query(
    text: str | ast.Query | PatternBuilder,
    *,
    parameters: Mapping[str, ParameterValue] = NO_PARAMETERS,
    group_by: GroupBy = NO_GROUPS,
    source: str = DEFAULT_SOURCE,
) -> CompiledQuery:
    """A query from its text, or from a pattern that was built in Python.

    Args:
        text: the query.
        parameters: values of the bare names in it, such as T in ``a.price > T``.
        group_by: attributes in which the events of a list agree: ``{"b": "x"}`` is the same as
            the condition ``b[i].x = b[i-1].x``, and ``{"b": ["x", "y"]}`` as two of them.
        source: what error messages call the text, for instance the name of its file.

    Raises:
        QuerySyntaxError: the text is not a query.
        QuerySemanticError: it is one, but makes no sense whatever the events are.

    >>> q = query("PATTERN SEQ(A a, B b) WHERE a.x < T WITHIN 10", parameters={"T": 3})
    >>> events = {"ts": [1, 2, 3], "type": ["A", "A", "B"], "x": [5, 2, 9]}
    >>> q.match(events).bindings()
    [{'a': 1, 'b': 2}]
    """
    if isinstance(text, PatternBuilder):
        text = text.build()
    if isinstance(text, ast.Query):
        grouped = with_groups(text, group_by)
        return CompiledQuery(grouped, print_query(grouped), source)
    if not isinstance(text, str):
        raise OptionError(f"a query is a text or a built pattern, not {type(text).__name__}")
    return CompiledQuery(with_groups(parse(text, source, parameters), group_by), text, source)


def read_query(
    path: str | Path,
    *,
    parameters: Mapping[str, ParameterValue] = NO_PARAMETERS,
    group_by: GroupBy = NO_GROUPS,
) -> CompiledQuery:
    """A query from a file, usually called ``something.sase``; arguments as for :func:`query`."""
    text, source = read_text(path), Path(path).name
    return query(text, parameters=parameters, group_by=group_by, source=source)


def read_text(path: str | Path) -> str:
    """The text of a file with a query or a script."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise OptionError(f"cannot read the query {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise OptionError(f"cannot read the query {path}: it is not UTF-8 text") from None


class CompiledQuery:
    """A query that can be run. Make one with :func:`query`."""

    def __init__(self, tree: ast.Query, text: str, source: str) -> None:
        self._tree = tree
        self._ready = Preparation(tree, text, source)
        self._ready.analysed(None)

    @property
    def tree(self) -> ast.Query:
        """The abstract syntax of the query."""
        return self._tree

    def __str__(self) -> str:
        return print_query(self._tree)

    def __repr__(self) -> str:
        return f"cepheid.query({str(self)!r})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the query, and the automaton of one that has one."""
        text = f"<pre>{escape(str(self))}</pre>"
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
        **options: Any,
    ) -> str:
        """How the query is understood and what will run it.

        ``schema`` is an Arrow schema, a :class:`~cepheid.Schema`, or a mapping of each type to
        its attributes; with it attributes and kinds are checked too. ``time`` matters where times
        are uncertain. ``options`` are those of :meth:`match`.

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
        column, uncertain, others = split_uncertain_time(time, options)
        checked = read_options(others)
        analysed = self._ready.analysed(schema_of(schema))
        choice = choose(analysed, evaluation, uncertain, checked)
        return explain(analysed, choice, checked, column, uncertain)

    def automaton(
        self,
        format: str = "mermaid",
        *,
        schema: Any = None,
        evaluation: str = AUTO,
        statistics: Mapping[str, float] | None = None,
    ) -> str:
        """The automata that run the query, as a drawing.

        Args:
            format: ``mermaid`` for a flowchart in the language of Mermaid, ``svg`` for a picture.
            schema: as for :meth:`explain`.
            evaluation: ``nfa_b`` or ``lazy_chain``; ``auto`` is the first of them that runs it.
            statistics: for lazy_chain how many events of a type or variable a window has, which
                decides the order of its states; without them it is that of the pattern.

        Raises:
            EvaluationError: the evaluation does not run the query.

        >>> drawing = query("PATTERN SEQ(A a, B+ b[]) WITHIN 10").automaton("svg")
        >>> drawing[:4], "θ_b[i]_take" in drawing
        ('<svg', True)
        """
        from cepheid.explain.drawing import check_drawing, draw, drawn_evaluation

        check_drawing(format, evaluation)
        analysed = self._ready.analysed(schema_of(schema))
        chosen = drawn_evaluation(analysed, evaluation, statistics)
        choose(analysed, chosen)
        return draw(analysed, format, chosen, statistics)

    def stacks(
        self,
        events: Any,
        *,
        time: str = "ts",
        type: str | None = "type",
        tie_break: str | Sequence[str] | None = None,
        time_unit: str | None = None,
        schema: Any = None,
    ) -> str:
        """A picture, in SVG, of the instance stacks after these events, 60 of them at most.

        It shows what waits on the stack of each component, and which of it is part of a match
        that the last event completes. The arguments are those of :meth:`match`.

        Raises:
            EvaluationError: instance_stacks does not run the query, for instance because it has
                a Kleene component.

        >>> q = query("PATTERN SEQ(A a, B b, D d)")
        >>> drawing = q.stacks({"ts": [1, 2, 3], "type": ["A", "B", "D"]})
        >>> drawing[:4], "D@3 completes a match: A@1 B@2 D@3" in drawing
        ('<svg', True)
        """
        from cepheid.explain.stack_pictures import draw_standing_stacks

        reading = Reading(time, type, tie_break, time_unit, schema, whole_events=False)
        return draw_standing_stacks(self._ready.run(events, reading, INSTANCE_STACKS, "all", {}))

    @overload
    def match(
        self, events: Any, *, output: Literal["compressed"], **keywords: Any
    ) -> CompressedMatches: ...

    @overload
    def match(self, events: Any, *, output: str = "all", **keywords: Any) -> Matches: ...

    def match(
        self,
        events: Any,
        *,
        time: str | tuple[str, str] = "ts",
        type: str | None = "type",
        tie_break: str | Sequence[str] | None = None,
        evaluation: str = AUTO,
        output: str = "all",
        time_unit: str | None = None,
        schema: Any = None,
        whole_events: bool | None = None,
        **options: Any,
    ) -> Matches | CompressedMatches:
        """All matches of the query over the events.

        Args:
            events: an Arrow table or batch, a pandas or Polars frame, a mapping of columns, the
                path of a Parquet, CSV or JSON-lines file, or a mapping of type to such a table.
                Of a Spark DataFrame the matches are a DataFrame: see :mod:`cepheid.spark`.
            time: the column with the time of an event: integer, float, timestamp or date; or two,
                with the earliest and the latest time that it can have.
            type: the column with its type; not needed with a table per type.
            tie_break: the column or columns that order events of equal time; row order
                otherwise.
            evaluation: ``auto`` or the name of an evaluation.
            output: ``all``, ``non_overlapping``, or ``compressed``: matches that can be counted,
                sampled and listed without having been built.
            time_unit: what the numbers of a numeric time column count, such as ``ms``.
            schema: the attributes of each type, where not every type has every column.
            whole_events: of Parquet files only the columns are read that the query names, unless
                it returns whole events, as it does without RETURN. True: all are read, for
                ``with_events()``; False: none but those, and the events of a match have no
                others.
            options: those of the evaluation. Of nfa_b: ``algorithm`` (``merging``, ``basic`` or
                ``backtrack``) and ``buffer`` (``unions`` or ``versioned``).
                Of instance_stacks: ``construction`` (``ais`` or ``basic``), ``equivalence``
                (``dynamic``, ``multi_pais``, ``pais`` or ``selection``), ``window`` (``scan``,
                ``construction`` or ``selection``), and ``domains``: how many values attributes
                have, such as ``{"id": 10_000}``. Of the lazy evaluations: ``negation``
                (``auto``, ``first_chance`` or ``post_processing``). Of all: ``statistics``, how
                many events of a type or variable a window has and how often conditions hold,
                such as ``{"A": 0.1, "B": 5, "a.x < b.x": 0.2}``, by which ``auto`` chooses;
                ``max_runs``, ``max_matches``.
                For times that are uncertain: ``uncertainty``, ``probabilities``,
                ``granularity``, ``max_uncertainty``, ``method``, ``min_confidence`` and
                ``top_k``, see the page on uncertain times.

        >>> q = query("PATTERN SEQ(Shelf a, ~(Register b), Exit c) WHERE [tag] WITHIN 12 hours")
        >>> events = {
        ...     "ts": [0, 5, 9, 12],
        ...     "type": ["Shelf", "Shelf", "Register", "Exit"],
        ...     "tag": [7, 8, 8, 7],
        ... }
        >>> q.match(events, time_unit="minutes").bindings()
        [{'a': 0, 'c': 3}]
        """
        if are_spark_frames(events):
            over_frames = import_module(SPARK).match
            return over_frames(  # type: ignore[no-any-return]
                self,
                events,
                time=time,
                type=type,
                tie_break=tie_break,
                evaluation=evaluation,
                output=output,
                time_unit=time_unit,
                schema=schema,
                **options,
            )
        from cepheid.matches.matches import Matches
        from cepheid.sessions.run import run, run_compressed

        mode = output_mode(output)
        reading = Reading(time, type, tie_break, time_unit, schema, whole_events)
        prepared = self._ready.run(events, reading, evaluation, output, options)
        if mode.needs_buffer:
            return run_compressed(prepared)
        parts, metrics = run(prepared)
        return Matches(self._tree, prepared.events, parts, metrics)

    def match_stream(
        self,
        events: Any,
        *,
        time: str | tuple[str, str] = "ts",
        type: str | None = "type",
        tie_break: str | Sequence[str] | None = None,
        evaluation: str = AUTO,
        output: str = "all",
        time_unit: str | None = None,
        schema: Any = None,
        whole_events: bool | None = None,
        **options: Any,
    ) -> MatchStream:
        """The matches of the query, made as they are read: for more than memory can hold.

        The arguments are those of :meth:`match`. What is wrong with a limit is known only
        when it is reached, in the middle of reading.

        >>> q = query("PATTERN SEQ(A a, B+ b[], C c)")
        >>> events = {"ts": list(range(22)), "type": ["A", *["B"] * 20, "C"]}
        >>> sum(batch.num_rows for batch in q.match_stream(events).to_batches())
        1048575
        """
        from cepheid.sessions.run import run_stream

        check_output(output)
        reading = Reading(time, type, tie_break, time_unit, schema, whole_events)
        return run_stream(self._ready.run(events, reading, evaluation, output, options))

    def count(
        self,
        events: Any,
        *,
        time: str | tuple[str, str] = "ts",
        type: str | None = "type",
        tie_break: str | Sequence[str] | None = None,
        evaluation: str = AUTO,
        output: str = "all",
        time_unit: str | None = None,
        schema: Any = None,
        **options: Any,
    ) -> int:
        """How many matches there are, exactly and without making them where that can be.

        The arguments are those of :meth:`match`. A query with a negation or OR makes its
        matches, a part at a time, to see which of them count. Those over a Spark DataFrame that
        is not streaming are made and counted by Spark.

        >>> q = query("PATTERN SEQ(A a, B+ b[], C c)")
        >>> q.count({"ts": list(range(72)), "type": ["A", *["B"] * 70, "C"]})
        1180591620717411303423
        """
        if are_spark_frames(events):
            refuse_streams(events)
            frame: Any = self.match(
                events,
                time=time,
                type=type,
                tie_break=tie_break,
                evaluation=evaluation,
                output=output,
                time_unit=time_unit,
                schema=schema,
                **options,
            )
            return int(frame.count())
        from cepheid.sessions.run import run_count

        check_output(output)
        reading = Reading(time, type, tie_break, time_unit, schema, whole_events=False)
        prepared = self._ready.run(events, reading, evaluation, output, options, counts=True)
        return run_count(prepared)

    def diagnose(
        self,
        events: Any,
        *,
        time: str | tuple[str, str] = "ts",
        type: str | None = "type",
        tie_break: str | Sequence[str] | None = None,
        evaluation: str = AUTO,
        time_unit: str | None = None,
        schema: Any = None,
        **options: Any,
    ) -> Diagnosis:
        """Why the query finds nothing, or too little: print it.

        It tells for each component how many events could be it and how many partial matches
        reached it, what stopped those that got furthest, and what is probably wrong. The
        arguments are those of :meth:`match`. However many events there are, the work is
        bounded; where a limit is reached, the diagnosis says so.

        >>> q = query("PATTERN SEQ(A a, B b) WHERE [id] WITHIN 10")
        >>> print(q.diagnose({"ts": [1, 2], "type": ["A", "B"], "id": ["x", "X"]}))
        PATTERN SEQ(A a, B b)
        WHERE [id]
        WITHIN 10
        <BLANKLINE>
        No match among 2 events.
        ...
        """
        from cepheid.events.events import order_events
        from cepheid.explain.diagnosis import diagnose

        column, uncertain, others = split_uncertain_time(time, options)
        if uncertain is not None:
            raise OptionError(
                "diagnose follows partial matches in one order of the events, and uncertain times "
                f"allow many; see what happens in one of them with time={column!r} alone. A match "
                "of a possible world is found by match however small its confidence: leave out "
                "WITH CONFIDENCE and min_confidence"
            )
        read_options(others)
        declared = schema_of(schema)
        ordered = order_events(
            events,
            time=column,
            type=type,
            tie_break=tie_break,
            time_unit=time_unit,
            schema=declared,
        )
        analysed = self._ready.analysed(ordered.schema)
        choose(analysed, evaluation)
        window = self.window_ticks(ordered)
        return diagnose(self._tree, ordered, window, compiled=evaluation != REFERENCE)

    def session(
        self,
        *,
        time: str | tuple[str, str] = "ts",
        type: str | None = "type",
        tie_break: str | Sequence[str] | None = None,
        evaluation: str = AUTO,
        output: str = "all",
        time_unit: str | None = None,
        schema: Any = None,
        **options: Any,
    ) -> StreamSession:
        """A session over a stream of events that comes in batches; keywords as for ``match``.

        >>> q = query("PATTERN SEQ(A a, B b) WITHIN 10")
        >>> session = q.session()
        >>> len(session.feed({"ts": [1], "type": ["A"]}))
        0
        >>> session.feed({"ts": [4, 20], "type": ["B", "B"]}).bindings()
        [{'a': 0, 'b': 1}]
        """
        reading = Reading(time, type, tie_break, time_unit, schema)
        return self._ready.session(reading, evaluation, output, options, None)

    def restore(
        self,
        snapshot: bytes | memoryview,
        *,
        time: str | tuple[str, str] = "ts",
        type: str | None = "type",
        tie_break: str | Sequence[str] | None = None,
        evaluation: str = AUTO,
        output: str = "all",
        time_unit: str | None = None,
        schema: Any = None,
        **options: Any,
    ) -> StreamSession:
        """The session that goes on from a snapshot of the same query, with the same keywords.

        Raises:
            SnapshotError: the snapshot is damaged, of another version or of another query.
        """
        from cepheid.snapshots import check_snapshot

        check_snapshot(snapshot)
        reading = Reading(time, type, tie_break, time_unit, schema)
        return self._ready.session(reading, evaluation, output, options, snapshot)

    def for_events(
        self,
        events: Events,
        evaluation: str = AUTO,
        uncertain: UncertainTime | None = None,
        options: Options = DEFAULT_OPTIONS,
    ) -> tuple[AnalysedQuery, Evaluation, int | None]:
        """The query as it is about such events, what runs it, and its window in ticks."""
        analysed = self._ready.analysed(events.schema)
        chosen = choose(analysed, evaluation, uncertain, options).evaluation
        return analysed, chosen, self.window_ticks(events)

    def window_ticks(self, events: Events) -> int | None:
        """The extent of WITHIN over these events: in ticks of their time, or in events."""
        return self._ready.window_ticks(events)
