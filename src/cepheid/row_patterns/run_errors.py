"""What goes wrong while a clause runs: no end of steps or memory, and no row to skip to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from cepheid.budget import Budget, OverBudget
from cepheid.errors import EvaluationError, LimitError, list_words
from cepheid.row_patterns import syntax as rows


def too_long(row: int, max_steps: int, tests: Mapping[str, int]) -> LimitError:
    """The search from a row takes too many steps; ``tests`` counts those of each variable."""
    variable = max(tests, key=lambda name: tests[name], default="none")
    return LimitError(
        f"the search for a match from row {row} (counting from 0) took more than "
        f"{max_steps:,} steps. Most of them are for the variable {variable}, which was "
        f"tested {tests.get(variable, 0):,} times: make its condition stricter, or its quantifier "
        "shorter. To allow more, raise max_steps."
    )


def no_target(skip: rows.Skip, number: int, first: int, last: int, exists: bool) -> EvaluationError:
    """AFTER MATCH SKIP names no row of a match, or (it ``exists``) the first one.

    ``first`` and ``last`` are the rows of the match in the table.
    """
    fault = f"{skip.variable} as its first row" if exists else f"no row of {skip.variable}"
    return EvaluationError(
        f"AFTER MATCH SKIP {skip.mode.value} {skip.variable}: match {number} of its "
        f"partition, from row {first} to row {last} (counting from 0), has {fault}"
        + (", where the same match would be found again" if exists else "")
    )


@contextmanager
def within_memory(limit: int | None, clause: rows.Clause) -> Iterator[None]:
    """Charge what is allocated to a limit in bytes; None means half of what is available.

    Raises:
        LimitError: it is not enough; the message says what needs less.
    """
    budget = Budget(limit)
    try:
        with budget.in_force():
            yield
    except OverBudget:
        helps = ["WITHIN"] if clause.within is None else ["a shorter WITHIN"]
        if clause.skip.mode is not rows.SkipMode.PAST_LAST_ROW:
            helps.append("AFTER MATCH SKIP PAST LAST ROW")
        if clause.rows is not rows.Rows.ONE:
            helps.append("ONE ROW PER MATCH")
        raise LimitError(
            f"the clause needs more than the memory limit of {budget.limit_text}: its matches "
            f"have too many rows. {list_words([*helps, 'an upper bound of quantifiers'], 'or')} "
            "needs less, and max_memory allows more"
        ) from None
