"""Options of an evaluation, as users give them: keywords of ``match`` and flags of the shell."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from cepheid.budget import read_size
from cepheid.engines.base.statistics import check_statistics
from cepheid.errors import OptionError, closest, list_words, unknown_name, warn
from cepheid.events.read_options import UNCERTAIN_KEYWORDS

BASIC, MERGING, BACKTRACK = "basic", "merging", "backtrack"
ALGORITHMS = (MERGING, BASIC, BACKTRACK)
UNIONS, VERSIONED = "unions", "versioned"
BUFFERS = (UNIONS, VERSIONED)
BY_COST, FIRST_CHANCE, POST_PROCESSING = "auto", "first_chance", "post_processing"
NEGATIONS = (BY_COST, FIRST_CHANCE, POST_PROCESSING)
CONSTRUCTIONS = ("ais", BASIC)
EQUIVALENCES = ("dynamic", "multi_pais", "pais", "selection")
WINDOWS = ("scan", "construction", "selection")
AUTO_METHOD, POINT, ANY_STATE = "auto", "point", "any_state"
QUERY_ORDER, SELECTIVITY = "query_order", "selectivity"
METHODS = (AUTO_METHOD, POINT, ANY_STATE, QUERY_ORDER, SELECTIVITY)
UNCERTAIN_ONLY = ("method", "min_confidence", "top_k")
CHOICES = {
    "algorithm": ALGORITHMS,
    "buffer": BUFFERS,
    "construction": CONSTRUCTIONS,
    "equivalence": EQUIVALENCES,
    "window": WINDOWS,
    "method": METHODS,
    "negation": NEGATIONS,
}
_MAX_MEMORY = "CEPHEID_MAX_MEMORY"
"""The environment variable with the default of ``max_memory``."""
LIMITS = ("max_runs", "max_matches", "max_memory")
READING = (
    "time",
    "type",
    "tie_break",
    "evaluation",
    "output",
    "at_most_once_per",
    "timed_out",
    "time_unit",
    "schema",
    "whole_events",
)
"""The other keywords of ``match``: how events are read, and which output is made."""
TEXT_KEYWORDS = ("time_format", "sep")
"""The keywords for text files and for times that are strings."""
_ON_SPARK = {
    "slices": "a query over a Spark DataFrame that is not streaming",
    "in_place": "a query over a Spark DataFrame that is not streaming",
    "reduce": "a query over a Spark DataFrame that is not streaming",
    "match_id": "a Spark DataFrame",
    "lateness": "a streaming Spark DataFrame",
    "in_order": "a streaming Spark DataFrame",
    "idle_timeout": "a streaming Spark DataFrame",
    "late": "a streaming Spark DataFrame",
    "metrics": "a streaming Spark DataFrame",
}
"""The keywords that are only for Spark DataFrames, and for which ones."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a query is evaluated.

    ``algorithm`` is for nfa_b: ``basic`` keeps runs separate, ``merging`` merges equivalent
    runs, ``backtrack`` follows one run at a time [Agrawal08 §5.2]. ``buffer`` is how nfa_b stores
    the selected events: as ``unions`` of chains, or ``versioned``, the shared versioned buffer of
    [Agrawal08 §5.1]. The next four are for instance_stacks [Wu06 §4]: how sequences are
    constructed, where equivalence tests and the window are tested, and the number of distinct
    values of attributes, if known. ``negation`` and ``statistics`` are for the lazy evaluations
    [Kolchinsky17]. ``negation``: whether a negation is tested as soon as the variables around it
    are bound, or when a match is complete, or whichever has the lower estimated cost.
    ``statistics``: the number of events of types or variables in a window, and how often
    conditions hold, if known. ``max_runs`` (instances, for other evaluations), ``max_matches`` and
    ``max_memory``, in bytes, are limits that end the evaluation with an error.

    The others are for imprecise: ``method`` is how signatures are found [Zhang10 §4, §5];
    ``min_confidence`` drops matches with less confidence, and ``top_k`` all but the k matches
    with the highest. ``workers`` is the number of threads among which partitions are divided.
    """

    algorithm: str = MERGING
    buffer: str = UNIONS
    construction: str = "ais"
    equivalence: str = "dynamic"
    window: str = "scan"
    domains: Mapping[str, int] = field(default_factory=dict)
    max_runs: int | None = None
    max_matches: int | None = None
    max_memory: int | None = None
    negation: str = BY_COST
    statistics: Mapping[str, float] | None = None
    method: str = AUTO_METHOD
    min_confidence: float | None = None
    top_k: int | None = None
    workers: int = 1

    def shaping(self) -> dict[str, Any]:
        """The options that the layout of an engine's state depends on."""
        return {
            name: value
            for name, value in asdict(self).items()
            if name not in (*LIMITS, "domains", "statistics", "workers")
        }


DEFAULT_OPTIONS = Options()


def read_options(given: Mapping[str, Any]) -> Options:
    """The options, checked.

    Variants of an evaluation are given in a mapping called ``options``. As separate keywords they
    still work, with a warning.

    >>> read_options({"options": {"algorithm": "basic"}, "max_runs": 5}).algorithm
    'basic'
    """
    known = [field.name for field in fields(Options)]
    keywords = {name: value for name, value in given.items() if name != "options"}
    for name in keywords:
        if name not in known:
            raise _unknown(name, known)
        if name in CHOICES:
            warn(
                f"the keyword {name} is deprecated; use options={{{name!r}: {keywords[name]!r}}}",
                FutureWarning,
            )
    nested = given.get("options") or {}
    if not isinstance(nested, Mapping):
        raise OptionError(f"options is a mapping of names to values, not {nested!r}")
    for name in nested:
        if name not in known:
            raise _unknown(name, known)
        if name in keywords:
            raise OptionError(f"{name} is given twice: as a keyword and in options")
    options = Options(**keywords, **nested)
    options = replace(options, max_memory=memory_limit(options.max_memory))
    for name, choices in CHOICES.items():
        chosen = getattr(options, name)
        if chosen not in choices:
            raise OptionError(unknown_name(name, chosen, choices))
    if options.buffer == VERSIONED and options.algorithm == BACKTRACK:
        raise OptionError(
            "a versioned buffer is shared by the runs that read an event together, and backtrack "
            "reads with one run at a time; use algorithm 'basic' or 'merging', or buffer 'unions'"
        )
    if options.statistics is not None:
        check_statistics(options.statistics)
    least: Any = options.min_confidence
    if least is not None and (
        isinstance(least, bool) or not isinstance(least, int | float) or not 0 <= least <= 1
    ):
        raise OptionError(f"min_confidence is a number from 0 to 1, not {least!r}")
    for name in (*LIMITS, "top_k"):
        limit = getattr(options, name)
        if limit is not None and (not isinstance(limit, int) or limit < 1):
            raise OptionError(f"{name} is a positive integer, not {limit!r}")
    workers: Any = options.workers
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise OptionError(f"workers is a positive number of threads, not {workers!r}")
    _check_domains(options.domains)
    return options


def memory_limit(given: object = None) -> int | None:
    """The limit that ``max_memory`` or the environment gives, in bytes; None if neither does.

    >>> memory_limit("2 GiB")
    2147483648
    """
    name = "max_memory"
    if given is None:
        name, given = _MAX_MEMORY, os.environ.get(_MAX_MEMORY)
    try:
        return read_size(given) if given is not None else None
    except ValueError as error:
        raise OptionError(f"{name} is {error}") from None


def _unknown(name: str, known: Sequence[str]) -> OptionError:
    """The error for an unknown option, with the name that was probably meant."""
    if name == "group_by":
        return OptionError(
            "group_by is part of the query: give it to query(), together with its text"
        )
    if name in _ON_SPARK:
        return OptionError(f"{name!r} is for {_ON_SPARK[name]}")
    if name in (*READING, *TEXT_KEYWORDS):
        return OptionError(f"match has a keyword {name!r}, but here it cannot be used")
    if name in UNCERTAIN_KEYWORDS:
        return OptionError(f"{name!r} is for a single query: a script has no uncertain times")
    near = closest(name, [*known, *UNCERTAIN_KEYWORDS, *READING, *TEXT_KEYWORDS, *_ON_SPARK])
    if not near:
        return OptionError(
            f"there is no option {name!r}; there are {list_words(known)}, and the keywords "
            f"{list_words(READING)}"
        )
    where = f" That is for {_ON_SPARK[near[0]]}" if near[0] in _ON_SPARK else ""
    return OptionError(f"there is no option {name!r}. Did you mean {near[0]!r}?{where}")


def _check_domains(domains: Any) -> None:
    if not isinstance(domains, Mapping):
        raise OptionError(
            f"domains is a mapping of attributes to their number of values, not {domains!r}"
        )
    for name, size in domains.items():
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise OptionError(
                f"the number of values of '{name}' is a positive integer, not {size!r}"
            )
