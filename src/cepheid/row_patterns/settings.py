"""How a clause is run: the keywords of ``match`` and ``session``, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypedDict

from cepheid.engines.base.evaluation import AUTO
from cepheid.errors import OptionError, did_you_mean
from cepheid.visible import said

MAX_STEPS = 10_000_000
"""How many steps the search for a match from one row may take, unless ``max_steps`` says so."""


class RowKeywords(TypedDict, total=False):
    """The keywords of sessions; :meth:`cepheid.RowPatternQuery.match` documents them."""

    time_unit: str | None
    sep: str | None
    max_steps: int
    evaluation: str
    match_id: bool
    max_memory: int | str | None


class MatchKeywords(RowKeywords, total=False):
    """The keywords of :meth:`cepheid.RowPatternQuery.match`, which documents them."""

    tie_break: str | Sequence[str] | None
    lateness: str | None
    in_order: bool
    idle_timeout: str | None
    late: str
    metrics: str


_OF_STREAMS = ("lateness", "in_order", "idle_timeout", "late", "metrics")


@dataclass(frozen=True, slots=True)
class Settings:
    """How a clause is run; :meth:`cepheid.RowPatternQuery.match` documents the fields."""

    time_unit: str | None = None
    sep: str | None = None
    max_steps: int = MAX_STEPS
    evaluation: str = AUTO
    match_id: bool = False
    max_memory: int | None = None

    @classmethod
    def of(cls, keywords: Mapping[str, Any]) -> Settings:
        """The settings that these keywords give.

        Raises:
            OptionError: a keyword is unknown, or a value is wrong.
        """
        given = {name: value for name, value in keywords.items() if value is not None}
        known = [each.name for each in fields(cls)]
        for name in given:
            if name == "tie_break":
                raise OptionError(
                    "tie_break is for Spark DataFrames: the rows of other tables keep their order. "
                    "Name the columns in ORDER BY"
                )
            if name in _OF_STREAMS:
                raise OptionError(f"{name} is for streaming DataFrames")
            if name not in known:
                hint = did_you_mean(name, known)
                raise OptionError(f"MATCH_RECOGNIZE has no option {name!r}{hint}")
        from cepheid.engines.base.options import memory_limit
        from cepheid.row_patterns.compiled.evaluation import check_evaluation  # it loads Arrow

        settings = cls(**{**given, "max_memory": memory_limit(given.get("max_memory"))})
        check_evaluation(settings.evaluation)
        steps: Any = settings.max_steps
        if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps < 1 << 63:
            raise OptionError(f"max_steps is a positive integer, not {said(steps)}")
        if not isinstance(settings.match_id, bool):
            raise OptionError(f"match_id is True or False, not {settings.match_id!r}")
        return settings
