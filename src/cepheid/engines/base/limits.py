"""Messages for limits that a query exceeds."""

from __future__ import annotations

from collections.abc import Sequence

from cepheid.errors import LimitError, list_words
from cepheid.language import syntax as ast
from cepheid.language.printer import print_pattern


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
