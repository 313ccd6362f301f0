"""Options of an evaluation, as users give them: keywords of ``match`` and flags of the shell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from cepheid.errors import OptionError, closest, list_words
from cepheid.planning.uncertain_time import KEYWORDS

BASIC, MERGING = "basic", "merging"
ALGORITHMS = (MERGING, BASIC)
LIMITS = ("max_runs", "max_matches")
AUTO_METHOD, POINT, ANY_STATE = "auto", "point", "any_state"
QUERY_ORDER, SELECTIVITY = "query_order", "selectivity"
WEIGHING = ("method", "min_confidence", "top_k")
METHODS = (AUTO_METHOD, POINT, ANY_STATE, QUERY_ORDER, SELECTIVITY)


@dataclass(frozen=True, slots=True)
class Options:
    """How a query is evaluated, whatever its answer.

    ``algorithm`` is for nfa_b: ``basic`` keeps runs apart, ``merging`` joins those that cannot
    be told apart any more [Agrawal08 §5.2]. ``max_runs`` and ``max_matches`` are limits that
    end the evaluation with an error.

    The others are for imprecise: ``method`` is how signatures are found [Zhang10 §4, §5];
    ``min_confidence`` leaves out those with less, ``top_k`` all but the k surest.
    """

    algorithm: str = MERGING
    max_runs: int | None = None
    max_matches: int | None = None
    method: str = AUTO_METHOD
    min_confidence: float | None = None
    top_k: int | None = None

    def shaping(self) -> dict[str, Any]:
        """The options by which a snapshot is laid out: all but the limits."""
        return {name: value for name, value in asdict(self).items() if name not in LIMITS}


DEFAULT_OPTIONS = Options()


def read_options(given: Mapping[str, Any]) -> Options:
    """The options, checked.

    >>> read_options({"algorithm": "basic"}).algorithm
    'basic'
    """
    known = [field.name for field in fields(Options)]
    for name in given:
        if name not in known:
            near = closest(name, [*known, *KEYWORDS])
            raise OptionError(
                f"there is no option {name!r}; there are {list_words(known)}"
                + (f". Did you mean {near[0]!r}?" if near else "")
            )
    options = Options(**given)
    if options.algorithm not in ALGORITHMS:
        near = closest(str(options.algorithm), ALGORITHMS)
        raise OptionError(
            f"there is no algorithm {options.algorithm!r}; there are {list_words(ALGORITHMS)}"
            + (f". Did you mean {near[0]!r}?" if near else "")
        )
    if options.method not in METHODS:
        near = closest(str(options.method), METHODS)
        raise OptionError(
            f"there is no method {options.method!r}; there are {list_words(METHODS)}"
            + (f". Did you mean {near[0]!r}?" if near else "")
        )
    least: Any = options.min_confidence
    if least is not None and (
        isinstance(least, bool) or not isinstance(least, int | float) or not 0 <= least <= 1
    ):
        raise OptionError(f"min_confidence is a number from 0 to 1, not {least!r}")
    for name in (*LIMITS, "top_k"):
        limit = getattr(options, name)
        if limit is not None and (not isinstance(limit, int) or limit < 1):
            raise OptionError(f"{name} is a positive whole number, not {limit!r}")
    return options
