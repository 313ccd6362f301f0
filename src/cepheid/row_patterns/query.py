"""What ``cep.query()`` gives for ``MATCH_RECOGNIZE ( … )``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Unpack

from cepheid.errors import (
    DEFAULT_SOURCE,
    EvaluationError,
    OptionError,
    QuerySemanticError,
    warn,
)
from cepheid.events.sources.spark_frames import SPARK, are_spark_frames
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.printer import print_clause, print_expression, print_variable
from cepheid.row_patterns.settings import MatchKeywords, RowKeywords, Settings
from cepheid.row_patterns.streams.bounds import (
    UNBOUNDED,
    is_unbounded,
    stream_faults,
    stream_text,
)
from cepheid.schema import Schema, schema_of
from cepheid.visible import html_text

if TYPE_CHECKING:
    from cepheid.row_patterns.diagnosis import RowDiagnosis
    from cepheid.row_patterns.results import RowMatches, RowMatchStream
    from cepheid.row_patterns.running import Run
    from cepheid.row_patterns.streams.session import RowSession


def no_clause_here() -> EvaluationError:
    """The error where only SASE+ queries run."""
    return EvaluationError(
        "MATCH_RECOGNIZE does not run here yet: it runs with match() and count() over tables in "
        "memory, files (cepheid match) and Spark DataFrames"
    )


class RowPatternQuery:
    """A ``MATCH_RECOGNIZE`` clause that can be run. Make one with :func:`cepheid.query`.

    >>> import cepheid as cep
    >>> falls = cep.query('''
    ...     SELECT * FROM ticks MATCH_RECOGNIZE (
    ...         PARTITION BY symbol ORDER BY ts
    ...         MEASURES S.ts AS since, LAST(DOWN.ts) AS until, count(DOWN.*) AS falls
    ...         PATTERN (S DOWN+)
    ...         DEFINE DOWN AS price < PREV(price)
    ...     )
    ... ''')
    >>> ticks = {"ts": [1, 2, 3, 4], "symbol": ["X"] * 4, "price": [9, 7, 5, 6]}
    >>> falls.match(ticks)
    1 match
    {'symbol': 'X', 'since': 1, 'until': 3, 'falls': 2}
    """

    def __init__(self, tree: rows.Clause, text: str, source: str = DEFAULT_SOURCE) -> None:
        self.tree = tree
        self._text = text
        self._source = source

    def __str__(self) -> str:
        return print_clause(self.tree)

    def __repr__(self) -> str:
        return f"cepheid.query({str(self)!r})"

    def _repr_html_(self) -> str:
        return f"<pre>{html_text(str(self))}</pre>"

    def match(self, events: Any, **keywords: Unpack[MatchKeywords]) -> RowMatches:
        """The rows that the clause gives for a table.

        Args:
            events: an Arrow table or batch, a pandas or Polars frame, a mapping of columns, a list
                of dicts, or the path of Parquet, CSV or JSON-lines files. For a Spark DataFrame
                the result is a DataFrame: see :mod:`cepheid.spark`.
            time_unit: what the numbers of the first column of ORDER BY count, such as ``ms``;
                only for WITHIN, and only if they are plain numbers.
            sep: the character between the columns of CSV files, such as ``;``.
            tie_break: for a Spark DataFrame, the column or columns that order rows which are
                equal in ORDER BY. The rows of any other table keep their order.
            max_steps: how many steps the search for a match from one row may take, by default
                10 million.
            evaluation: ``row_pattern`` (the engine), ``reference``, or ``auto``: the engine if it
                can run the clause; :meth:`explain` tells.
            max_memory: how much memory the search and the result may take, such as ``"2 GiB"``; by
                default half of what is available.
            match_id: whether the result has a last column ``match_id``, which names a match: it is
                the same wherever and however often the match is found. It is null in the row of no
                match. By default only the result for a streaming DataFrame has it.
            lateness: for a streaming DataFrame, how far a row may be behind the latest one, such as
                ``10 minutes``; ``late`` and ``metrics`` are for streaming DataFrames too, see
                :mod:`cepheid.spark`.

        Raises:
            EvaluationError: AFTER MATCH SKIP cannot continue from a match.
            LimitError: a search takes more than ``max_steps``, and the message names the variable;
                or ``max_memory`` does not suffice.
            QuerySemanticError: the table does not have the columns, or their kinds do not fit.
        """
        if are_spark_frames(events):
            _refuse_sep(keywords)
            return import_module(SPARK).match_rows(self, events, **keywords)  # type: ignore[no-any-return]
        return self._run(events, keywords).result()

    def count(self, events: Any, **keywords: Unpack[MatchKeywords]) -> int:
        """The number of matches, empty ones included; keywords as for :meth:`match`.

        >>> import cepheid as cep
        >>> cep.query("MATCH_RECOGNIZE (PATTERN (A A))").count({"x": [1, 2, 3, 4, 5]})
        2
        """
        if are_spark_frames(events):
            _refuse_sep(keywords)
            return int(import_module(SPARK).count_rows(self, events, **keywords))
        return self._run(events, keywords).count()

    def explain(self, schema: Any = None) -> str:
        """What the clause means, and how it runs.

        With a ``schema``, such as that of an Arrow table, names and kinds of columns are checked.

        >>> import cepheid as cep
        >>> print(cep.query("MATCH_RECOGNIZE (ORDER BY t PATTERN (a b+) DEFINE b AS x > 1)")
        ...       .explain())
        MATCH_RECOGNIZE (
          ORDER BY t
          PATTERN (A B+)
          DEFINE B AS x > 1
        )
        <BLANKLINE>
        evaluation:
          row_pattern: backtracking over an automaton, compiled; no state is entered again with \
what it has failed with
        automaton:
          0: A → 1
          1: B → 2
          2: B → 2, match
        tested for all rows before the search:
          B: x > 1
        partitions:
          one, with all rows; on Spark, one worker runs it
        order:
          t
        variables:
          A: any row
          B: x > 1
        result:
          one row for each match
        after a match:
          continue after its last row
        stream:
          a match is returned when no later row can change it
          retained rows of each partition: unbounded, without WITHIN
        """
        from cepheid.row_patterns.compiled.explanation import explained

        known = schema_of(schema)
        if known is not None:
            self.check(known)
        clause, definitions = self.tree, {each.variable: each for each in self.tree.definitions}
        order = ", ".join(
            item.column.text + ("" if item.is_ascending else " (descending)")
            for item in clause.order_by
        )
        partitions = ", ".join(name.text for name in clause.partition_by)
        parts = {
            **explained(clause, known),
            "partitions": [f"rows that agree on {partitions}" if partitions else _ONE_PARTITION],
            "order": [order or "that of the input"],
            "variables": [
                f"{print_variable(name)}: "
                + (print_expression(definitions[name].condition) if name in definitions else _ANY)
                for name in clause.variables()
            ],
            "result": [_RESULTS[clause.rows]],
            "after a match": [_after(clause.skip)],
            "stream": stream_text(clause),
        }
        lines = [str(self), ""]
        for title, texts in parts.items():
            lines += [f"{title}:", *(f"  {text}" for text in texts)]
        return "\n".join(lines)

    def session(self, **keywords: Unpack[RowKeywords]) -> RowSession:
        """A session over rows that arrive in batches; keywords as for :meth:`match`.

        The first column of ORDER BY is the time of a row, and rows are fed in time order.

        Raises:
            QuerySemanticError: the clause has no ORDER BY, is in descending order, or has ``$``.

        >>> import cepheid as cep
        >>> pairs = cep.query("MATCH_RECOGNIZE (ORDER BY t MEASURES B.t AS t PATTERN (A B))")
        >>> session = pairs.session()
        >>> len(session.feed({"t": [1]}))
        0
        >>> session.feed({"t": [2, 3]}).to_dicts()
        [{'t': 2}]
        """
        return self._session(keywords)

    def restore(self, snapshot: bytes | memoryview, **keywords: Unpack[RowKeywords]) -> RowSession:
        """The session of a snapshot of the same clause, with the same keywords.

        Raises:
            SnapshotError: the snapshot is damaged, of another version or of another query.
        """
        from cepheid.snapshots import check_snapshot

        check_snapshot(snapshot)
        return self._session(keywords, snapshot)

    def _session(
        self, keywords: Mapping[str, Any], snapshot: bytes | memoryview | None = None
    ) -> RowSession:
        from cepheid.row_patterns.streams.session import RowSession

        self.refuse_stream()
        settings = Settings.of(keywords)
        if snapshot is None and is_unbounded(self.tree):
            warn(UNBOUNDED)
        return RowSession(self.tree, settings, snapshot, (self._text, self._source))

    def match_stream(self, events: Any, **keywords: Unpack[RowKeywords]) -> RowMatchStream:
        """The rows that the clause gives, computed while they are read: partition by partition.

        The keywords are those of :meth:`match`.

        >>> import cepheid as cep
        >>> pairs = cep.query("MATCH_RECOGNIZE (PARTITION BY k ORDER BY t PATTERN (A A))")
        >>> found = pairs.match_stream({"k": [1, 2, 1, 2], "t": [1, 2, 3, 4]})
        >>> [batch.num_rows for batch in found.to_batches()], found.found
        ([2], 2)
        """
        from cepheid.row_patterns.results import RowMatchStream
        from cepheid.row_patterns.streams.matching import KnownRows

        settings = Settings.of(keywords)
        with self._placed():
            return RowMatchStream(KnownRows.over(self.tree, events, settings).parts())

    def diagnose(self, events: Any, **keywords: Unpack[RowKeywords]) -> RowDiagnosis:
        """Why the clause finds nothing, or too little: print it.

        It shows how many rows each variable takes, how far the search from each row comes, and
        what rejected the next row there. The keywords are those of :meth:`match`. It looks at the
        first 5,000 rows.

        >>> import cepheid as cep
        >>> falls = cep.query("MATCH_RECOGNIZE (ORDER BY t PATTERN (A B) DEFINE B AS x < PREV(x))")
        >>> print(falls.diagnose({"t": [1, 2], "x": [5, 6]}))
        MATCH_RECOGNIZE (
          ORDER BY t
          PATTERN (A B)
          DEFINE B AS x < PREV(x)
        )
        <BLANKLINE>
        No row begins a match, among 2 rows in 1 partition.
        <BLANKLINE>
        Rows that satisfy the condition of each variable:
          A: 2 (any row)
          B: 0 (x < PREV(x))
        <BLANKLINE>
        How far the search from each row gets:
          A: 2 rows; B rejected the next row 1 time, no row followed 1 time
        <BLANKLINE>
        No row satisfies the condition of B: check its values.
        """
        from cepheid.row_patterns.diagnosis import DiagnosedRun

        settings = Settings.of(keywords)
        with self._placed():
            return DiagnosedRun.over(self.tree, events, settings).diagnosis(self.tree)

    def automaton(self, format: str = "mermaid") -> str:
        """The automaton that the engine runs, as a drawing.

        Args:
            format: ``mermaid`` for a Mermaid flowchart, ``svg`` for a picture.

        Raises:
            EvaluationError: the clause has no automaton, or one that is too large to draw.

        >>> import cepheid as cep
        >>> cep.query("MATCH_RECOGNIZE (PATTERN (A B+))").automaton("svg")[:4]
        '<svg'
        """
        from cepheid.row_patterns.compiled.drawing import draw

        return draw(self.tree, format)

    def _run(self, events: Any, keywords: Mapping[str, Any]) -> Run:
        from cepheid.row_patterns.running import Run

        settings = Settings.of(keywords)
        with self._placed():
            return Run.over(self.tree, events, settings)

    def refuse_stream(self) -> None:
        """Refuse to run over a stream if the clause has no answer there.

        Raises:
            QuerySemanticError: it has no ORDER BY, has a descending order, or has ``$``.
        """
        faults = list(stream_faults(self.tree))
        if faults:
            raise QuerySemanticError(faults, self._text, self._source)

    def check(self, schema: Schema) -> None:
        """Check that a table with this schema has the columns, and that their types fit.

        Raises:
            QuerySemanticError: it does not; the message has all faults.

        >>> import cepheid as cep
        >>> clause = cep.query("MATCH_RECOGNIZE (ORDER BY t PATTERN (A))")
        >>> clause.check(cep.Schema({"t": cep.Kind.INTEGER}, None))
        """
        from cepheid.row_patterns.columns import Binding

        faults = Binding(self.tree, schema).faults
        if faults:
            raise QuerySemanticError(faults, self._text, self._source)

    @contextmanager
    def _placed(self) -> Iterator[None]:
        """Show where in the text the faults are that are found for a table."""
        try:
            yield
        except QuerySemanticError as error:
            raise QuerySemanticError(error.faults, self._text, self._source) from None


_ANY, _ONE_PARTITION = "any row", "one, with all rows; on Spark, one worker runs it"
_RESULTS = {
    rows.Rows.ONE: "one row for each match",
    rows.Rows.ALL: "all rows of each match, and one for an empty match",
    rows.Rows.ALL_OMIT_EMPTY: "all rows of each match, and none for an empty match",
    rows.Rows.ALL_WITH_UNMATCHED: "all rows of each match, and the rows in no match",
}


def _refuse_sep(keywords: Mapping[str, Any]) -> None:
    if keywords.get("sep") is not None:
        raise OptionError("sep is for CSV files, not for Spark DataFrames")


def _after(skip: rows.Skip) -> str:
    match skip.mode:
        case rows.SkipMode.PAST_LAST_ROW:
            return "continue after its last row"
        case rows.SkipMode.TO_NEXT_ROW:
            return "continue after its first row"
    which = "first" if skip.mode is rows.SkipMode.TO_FIRST else "last"
    return f"continue at its {which} row of {print_variable(skip.variable)}"
