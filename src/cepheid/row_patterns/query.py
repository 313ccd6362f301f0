"""What ``cep.query()`` gives for ``MATCH_RECOGNIZE ( … )``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from cepheid.errors import EvaluationError, OptionError, QuerySemanticError
from cepheid.events.sources.spark_frames import are_spark_frames
from cepheid.row_patterns import syntax as rows
from cepheid.row_patterns.printer import print_clause, print_expression, print_variable
from cepheid.schema import schema_of
from cepheid.visible import html_text

if TYPE_CHECKING:
    from cepheid.row_patterns.results import RowMatches
    from cepheid.row_patterns.running import Run

RUNS_WITH = "it runs with match() and count() over tables in memory and files (cepheid match)"
MAX_STEPS = 10_000_000
"""How many steps the search for a match from one row may take, unless ``max_steps`` says so."""


def _not_yet(name: str) -> Any:
    def method(_self: RowPatternQuery, *_: Any, **__: Any) -> NoReturn:
        raise EvaluationError(f"MATCH_RECOGNIZE has no {name}() yet: {RUNS_WITH}")

    method.__name__, method.__doc__ = name, "Not for MATCH_RECOGNIZE yet: raises an error."
    return method


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

    def __init__(self, tree: rows.Clause, text: str, source: str) -> None:
        self.tree = tree
        self._text = text
        self._source = source

    def __str__(self) -> str:
        return print_clause(self.tree)

    def __repr__(self) -> str:
        return f"cepheid.query({str(self)!r})"

    def _repr_html_(self) -> str:
        return f"<pre>{html_text(str(self))}</pre>"

    def match(
        self,
        events: Any,
        *,
        time_unit: str | None = None,
        sep: str | None = None,
        max_steps: int = MAX_STEPS,
    ) -> RowMatches:
        """The rows that the clause gives for a table.

        Args:
            events: an Arrow table or batch, a pandas or Polars frame, a mapping of columns, a list
                of dicts, or the path of Parquet, CSV or JSON-lines files.
            time_unit: what the numbers of the first column of ORDER BY count, such as ``ms``;
                only for WITHIN, and only if they are plain numbers.
            sep: the character between the columns of CSV files, such as ``;``.
            max_steps: how many steps the search for a match from one row may take.

        Raises:
            EvaluationError: AFTER MATCH SKIP cannot go on from a match, or the events are a Spark
                DataFrame.
            LimitError: a search takes more than ``max_steps``; the message names the variable.
            QuerySemanticError: the table does not have the columns, or their kinds do not fit.
        """
        return self._run(events, time_unit, sep, max_steps).result()

    def count(
        self,
        events: Any,
        *,
        time_unit: str | None = None,
        sep: str | None = None,
        max_steps: int = MAX_STEPS,
    ) -> int:
        """The number of matches, empty ones included; arguments as for :meth:`match`.

        >>> import cepheid as cep
        >>> cep.query("MATCH_RECOGNIZE (PATTERN (A A))").count({"x": [1, 2, 3, 4, 5]})
        2
        """
        return self._run(events, time_unit, sep, max_steps).count()

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
          reference: full backtracking over the syntax tree, in Python
        partitions:
          one, with all rows
        order:
          t
        variables:
          A: any row
          B: x > 1
        result:
          one row for each match
        after a match:
          go on after its last row
        """
        known = schema_of(schema)
        if known is not None:
            self._check(known)
        clause, definitions = self.tree, {each.variable: each for each in self.tree.definitions}
        order = ", ".join(
            item.column.text + ("" if item.is_ascending else " (descending)")
            for item in clause.order_by
        )
        partitions = ", ".join(name.text for name in clause.partition_by)
        parts = {
            "evaluation": ["reference: full backtracking over the syntax tree, in Python"],
            "partitions": [f"rows that agree on {partitions}" if partitions else _ONE_PARTITION],
            "order": [order or "that of the input"],
            "variables": [
                f"{print_variable(name)}: "
                + (print_expression(definitions[name].condition) if name in definitions else _ANY)
                for name in clause.variables()
            ],
            "result": [_RESULTS[clause.rows]],
            "after a match": [_after(clause.skip)],
        }
        lines = [str(self), ""]
        for title, texts in parts.items():
            lines += [f"{title}:", *(f"  {text}" for text in texts)]
        return "\n".join(lines)

    session = _not_yet("session")
    restore = _not_yet("restore")
    match_stream = _not_yet("match_stream")
    diagnose = _not_yet("diagnose")
    automaton = _not_yet("automaton")
    stacks = _not_yet("stacks")

    def _run(self, events: Any, time_unit: str | None, sep: str | None, max_steps: int) -> Run:
        from cepheid.row_patterns.running import Run, Settings

        if are_spark_frames(events):
            raise EvaluationError(
                "MATCH_RECOGNIZE does not run on Spark yet; if the rows fit into memory, give "
                "df.toArrow()"
            )
        given: Any = max_steps
        if isinstance(given, bool) or not isinstance(given, int) or given < 1:
            raise OptionError(f"max_steps is a positive whole number, not {max_steps!r}")
        try:
            return Run(self.tree, events, Settings(time_unit, sep, max_steps))
        except QuerySemanticError as error:
            raise self._at_place(error) from None

    def _check(self, schema: Any) -> None:
        from cepheid.row_patterns.columns import Binding

        faults = Binding(self.tree, schema).faults
        if faults:
            raise self._at_place(QuerySemanticError(faults))

    def _at_place(self, error: QuerySemanticError) -> QuerySemanticError:
        return QuerySemanticError(error.faults, self._text, self._source)


_ANY, _ONE_PARTITION = "any row", "one, with all rows"
_RESULTS = {
    rows.Rows.ONE: "one row for each match",
    rows.Rows.ALL: "all rows of each match, and one for an empty match",
    rows.Rows.ALL_OMIT_EMPTY: "all rows of each match, and none for an empty match",
    rows.Rows.ALL_WITH_UNMATCHED: "all rows of each match, and the rows in no match",
}


def _after(skip: rows.Skip) -> str:
    match skip.mode:
        case rows.SkipMode.PAST_LAST_ROW:
            return "go on after its last row"
        case rows.SkipMode.TO_NEXT_ROW:
            return "go on after its first row"
    which = "first" if skip.mode is rows.SkipMode.TO_FIRST else "last"
    return f"go on at its {which} row of {print_variable(skip.variable)}"
