"""Options of an evaluation, as users give them: keywords of ``match`` and flags of the shell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from cepheid.errors import OptionError, closest, list_words

BASIC, MERGING, BACKTRACK = "basic", "merging", "backtrack"
ALGORITHMS = (MERGING, BASIC, BACKTRACK)
UNIONS, VERSIONED = "unions", "versioned"
BUFFERS = (UNIONS, VERSIONED)
LIMITS = ("max_runs", "max_matches")


@dataclass(frozen=True, slots=True)
class Options:
    """How a query is evaluated, whatever its answer.

    ``algorithm`` is for nfa_b: ``basic`` keeps runs apart, ``merging`` joins those that cannot
    be told apart any more, ``backtrack`` follows one run at a time [Agrawal08 §5.2].
    ``buffer`` is how it keeps what runs have selected: ``unions`` of chains, or ``versioned``,
    the shared versioned buffer of [Agrawal08 §5.1]. ``max_runs`` and ``max_matches`` are
    limits that end the evaluation with an error.
    """

    algorithm: str = MERGING
    buffer: str = UNIONS
    max_runs: int | None = None
    max_matches: int | None = None

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
    _check_word("algorithm", options.algorithm, ALGORITHMS)
    _check_word("buffer", options.buffer, BUFFERS)
    if options.buffer == VERSIONED and options.algorithm == BACKTRACK:
        raise OptionError(
            "a versioned buffer is shared by the runs that read an event together, and backtrack "
            "reads with one run at a time; use algorithm 'basic' or 'merging', or buffer 'unions'"
        )
    for name in LIMITS:
        limit = getattr(options, name)
        if limit is not None and (not isinstance(limit, int) or limit < 1):
            raise OptionError(f"{name} is a positive whole number, not {limit!r}")
    return options


def _check_word(option: str, given: object, known: Sequence[str]) -> None:
    if given not in known:
        near = closest(str(given), known)
        raise OptionError(
            f"there is no {option} {given!r}; there are {list_words(known)}"
            + (f". Did you mean {near[0]!r}?" if near else "")
        )
