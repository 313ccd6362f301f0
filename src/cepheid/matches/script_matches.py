"""The result of a script: the matches of each of its queries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cepheid.errors import closest, list_words
from cepheid.matches.matches import Matches


class ScriptMatches(Mapping[str, Matches]):
    """The matches of each query of a script, by the name of the query.

    The name of a query is the composite type that it makes, or else its number: ``query_2``.
    """

    def __init__(self, matches: Mapping[str, Matches]) -> None:
        self._matches = dict(matches)

    def __getitem__(self, name: str) -> Matches:
        if name not in self._matches:
            near = closest(name, self._matches)
            known = list_words(list(self._matches))
            advice = f". Did you mean {near[0]!r}?" if near else ""
            raise KeyError(f"the script has no query {name!r}; it has {known}{advice}")
        return self._matches[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._matches)

    def __len__(self) -> int:
        return len(self._matches)

    def __repr__(self) -> str:
        counts = {name: len(matches) for name, matches in self._matches.items()}
        return "\n".join(
            f"{name}: {count} match{'' if count == 1 else 'es'}" for name, count in counts.items()
        )
