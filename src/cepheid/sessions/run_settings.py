"""How a query or a script is run: the keywords of ``match`` and ``session``, checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from cepheid.engines.base.evaluation import AUTO
from cepheid.engines.base.options import DEFAULT_OPTIONS, Options, read_options
from cepheid.errors import OptionError
from cepheid.events.read_options import DEFAULT_READING, ReadKeywords, ReadOptions
from cepheid.sessions.requested_output import KEYWORDS, NOTHING_REQUESTED, RequestedOutput

WORKERS = "workers"


class MatchKeywords(ReadKeywords, total=False):
    """The keywords of :meth:`cepheid.CompiledQuery.match`, which documents them."""

    evaluation: str
    output: str | None
    at_most_once_per: float | str | timedelta | None
    timed_out: bool | None
    options: Mapping[str, Any]
    algorithm: str
    buffer: str
    construction: str
    equivalence: str
    window: str
    domains: Mapping[str, int]
    max_runs: int | None
    max_matches: int | None
    max_memory: int | str | None
    negation: str
    statistics: Mapping[str, float] | None
    method: str
    min_confidence: float | None
    top_k: int | None
    workers: int


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How events are read, and how they are matched.

    ``requested`` is what the keywords request as the output of each query.
    """

    read: ReadOptions = DEFAULT_READING
    evaluation: str = AUTO
    requested: RequestedOutput = NOTHING_REQUESTED
    options: Options = DEFAULT_OPTIONS

    @classmethod
    def of(
        cls,
        keywords: Mapping[str, Any],
        *,
        without: Collection[str] = (),
        outputs: Collection[str] | None = None,
    ) -> RunSettings:
        """The settings that these keywords give.

        Args:
            keywords: the keywords of ``match``.
            without: keywords of ``match`` that cannot be used here.
            outputs: the output modes that can be used here.

        Raises:
            OptionError: a keyword is unknown or cannot be used here, or a value is wrong.
        """
        from cepheid.matches.modes.registry import check_output  # its modes need NumPy

        if WORKERS in without and WORKERS in keywords:
            raise OptionError(
                f"{WORKERS!r} divides the events of a query or a script among threads, in match, "
                "match_stream, count and session; here it cannot be used"
            )
        requested = RequestedOutput.by_keywords(keywords)
        if requested.output is not None:
            check_output(requested.output, None if outputs is None else tuple(outputs))
        known = {*ReadKeywords.__annotations__, "evaluation", *KEYWORDS} - {*without}
        others = {name: value for name, value in keywords.items() if name not in known}
        options = read_options(others)
        return cls(ReadOptions.of(keywords), keywords.get("evaluation", AUTO), requested, options)
