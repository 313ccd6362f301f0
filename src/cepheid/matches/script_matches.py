"""The result of a script: the matches of each of its queries."""

from __future__ import annotations

from cepheid.errors import did_you_mean, list_words
from cepheid.matches.matches import Matches, count_text


class ScriptMatches(dict[str, Matches]):
    """The matches of each query of a script, by the name of the query.

    The name of a query is the composite type that it makes, or else its number: ``query_2``.
    """

    def __missing__(self, name: str) -> Matches:
        known = list(self)
        raise KeyError(
            f"the script has no query {name!r}; it has {list_words(known)}"
            + did_you_mean(name, known)
        )

    def __repr__(self) -> str:
        return "\n".join(f"{name}: {count_text(len(found))}" for name, found in self.items())
