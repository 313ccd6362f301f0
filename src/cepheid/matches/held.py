"""Matches that are held in memory, charged to the budget of a run, and the error for too many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from cepheid.budget import Budget, OverBudget
from cepheid.errors import LimitError, list_words
from cepheid.language import syntax as ast
from cepheid.language.printer import print_pattern
from cepheid.matches.bindings import Bindings


def charge_matches(budget: Budget, matches: Bindings, query: ast.Query, copies: int = 1) -> int:
    """Charge matches that are kept, and as many copies as later steps make; returns the bytes.

    Raises:
        LimitError: the run may not take this much memory.
    """
    size = copies * matches.nbytes
    try:
        budget.charge(size)
    except OverBudget:
        lengths = {name: len(column.positions) for name, column in matches.variables.items()}
        raise over_budget(budget, query, max(lengths, key=lengths.__getitem__)) from None
    return size


@contextmanager
def naming_component(budget: Budget, query: ast.Query, variable: str | None) -> Iterator[None]:
    """Name the variable, or the most likely one, if more memory is needed than the budget has."""
    try:
        yield
    except OverBudget:
        raise over_budget(budget, query, variable) from None


@contextmanager
def building(budget: Budget, query: ast.Query) -> Iterator[Callable[[int], None]]:
    """Charges for a result that is being built; when it is complete, it is the caller's."""
    charged = 0

    def charge(size: int) -> None:
        nonlocal charged
        with naming_component(budget, query, None):
            budget.charge(size)
        charged += size

    try:
        yield charge
    finally:
        budget.release(charged)


def over_budget(budget: Budget, query: ast.Query, variable: str | None = None) -> LimitError:
    """The error for a run that needs too much memory: which component needs it, and what helps."""
    components = [each for each, negated in ast.components(query.pattern) if not negated]
    lists = [each for each in components if each.is_kleene]
    unbounded = [each for each in lists if each.bounds is not None and each.bounds.most is None]
    named = [each for each in components if each.variable == variable]
    component = (named or unbounded or lists or components[-1:])[0]
    shown = print_pattern(component)
    helps = ["a shorter window" if query.window else "a window (WITHIN)"]
    if query.strategy is ast.SelectionStrategy.SKIP_TILL_ANY_MATCH:
        cause = f"every choice of events for '{shown}' is a match of its own"
        if not component.is_kleene:
            cause = f"every combination of events is a match of its own, most of them at '{shown}'"
        helps.append("skip_till_next_match")
    else:
        cause = f"most of it is for '{shown}'"
    helps += ["an equivalence test such as [id]", "output='non_overlapping'"]
    helps += ["output='compressed'", "count()", "match_stream()"]
    return LimitError(
        f"the query needs more than the memory limit of {budget.limit_text}: {cause}; "
        f"{list_words(helps, 'or')} needs less, and max_memory allows more"
    )


def too_many_matches(
    limit: int, components: Sequence[ast.Component], strategy: ast.SelectionStrategy
) -> LimitError:
    """The error for more matches than allowed: what multiplies them, and what helps."""
    lists = [print_pattern(each) for each in components if each.is_kleene]
    fewer = ["a shorter window", "an equivalence test such as [id]", "another condition"]
    if strategy is ast.SelectionStrategy.SKIP_TILL_ANY_MATCH:
        choice = "combination of events in the window"
        if lists:
            choice = f"choice of events for '{lists[0]}'"
        cause = f"every {choice} is a match of its own"
        fewer.append("skip_till_next_match")
    elif lists:
        cause = f"every place where '{lists[0]}' can begin or end makes a match of its own"
    else:
        cause = "every event that can be the first begins a match of its own"
    advice = list_words([*fewer, "output='non_overlapping'"], "or")
    return LimitError(
        f"there are more than {limit} matches: {cause}; {advice} makes them fewer, and max_matches "
        "allows more"
    )
