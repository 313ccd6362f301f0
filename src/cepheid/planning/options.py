"""Options of an evaluation, as users give them: keywords of ``match`` and flags of the shell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from cepheid.errors import OptionError, closest, list_words
from cepheid.planning.statistics import check_statistics

BASIC, MERGING = "basic", "merging"
ALGORITHMS = (MERGING, BASIC)
FIRST_CHANCE, POST_PROCESSING = "first_chance", "post_processing"
NEGATIONS = (FIRST_CHANCE, POST_PROCESSING)
LIMITS = ("max_runs", "max_matches")


@dataclass(frozen=True, slots=True)
class Options:
    """How a query is evaluated, whatever its answer.

    ``algorithm`` is for nfa_b: ``basic`` keeps runs apart, ``merging`` joins those that cannot
    be told apart any more [Agrawal08 §5.2]. ``negation`` is for the lazy evaluations: whether
    a negation is tested as soon as what is around it is bound, or when a match is complete;
    None leaves the choice to them. ``statistics`` tell them how frequent types or variables
    are; without it they count. ``max_runs`` and ``max_matches`` are limits that
    end the evaluation with an error.
    """

    algorithm: str = MERGING
    max_runs: int | None = None
    max_matches: int | None = None
    negation: str | None = None
    statistics: Mapping[str, float] | None = None

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
            near = closest(name, known)
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
    if options.negation is not None and options.negation not in NEGATIONS:
        near = closest(str(options.negation), NEGATIONS)
        raise OptionError(
            f"there is no method {options.negation!r} of negation; there are "
            f"{list_words(NEGATIONS)}" + (f". Did you mean {near[0]!r}?" if near else "")
        )
    if options.statistics is not None:
        check_statistics(options.statistics)
    for name in LIMITS:
        limit = getattr(options, name)
        if limit is not None and (not isinstance(limit, int) or limit < 1):
            raise OptionError(f"{name} is a positive whole number, not {limit!r}")
    return options
