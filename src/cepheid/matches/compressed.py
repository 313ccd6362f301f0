"""All matches in the buffer that the runs share: counted, listed and sampled without a copy.

The number of matches can be exponential in the window; the size of the buffer is not. A *final*
represents all chains of events that end in one node of the buffer and start inside the window.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cepheid.budget import Budget
from cepheid.errors import OptionError, unknown_name
from cepheid.events.arrays import Int64s, int64s
from cepheid.events.events import Events
from cepheid.jit.drive import Drive
from cepheid.language import syntax as ast
from cepheid.matches.aggregation import AGGREGATIONS, Totals, exact, totals_by
from cepheid.matches.bindings import Bindings, MatchTimes
from cepheid.matches.held import building
from cepheid.matches.kernels.match_columns import count_finals
from cepheid.matches.layout import FINAL, Chains
from cepheid.matches.match_columns import MatchLister
from cepheid.matches.matches import Match, Matches, count_text
from cepheid.matches.metrics import Metrics

_EXACT = 2.0**53


class CompressedMatches:
    """The matches of a query, none of them built yet.

    >>> import cepheid as cep
    >>> q = cep.query("PATTERN SEQ(A a, B+ b[], C c)")
    >>> events = {"ts": list(range(42)), "type": ["A", *["B"] * 40, "C"]}
    >>> compressed = q.match(events, output="compressed")
    >>> compressed.count()
    1099511627775
    >>> len(compressed.sample(3))
    3
    >>> next(iter(compressed)).bindings["c"]
    41
    """

    def __init__(
        self,
        query: ast.Query,
        events: Events,
        variables: Mapping[str, ast.Component],
        chains: Chains,
        metrics: Metrics,
        budget: Budget,
    ) -> None:
        self.metrics = metrics
        self._budget = budget
        self._query = query
        self._events = events
        self._variables = variables
        # Nodes are never dropped, so their numbers are their places.
        self._chains = chains
        self._nodes, self._finals = chains.nodes, chains.finals

    def count(self) -> int:
        """The exact number of matches, however many there are."""
        total = float(self._counts.sum())
        return int(total) if total < _EXACT else self._exact_count()

    def __iter__(self) -> Iterator[Match]:
        """The matches one by one; only one block of them is in memory."""
        for block in self._blocks():
            yield from self._matches([block])

    def __repr__(self) -> str:
        return f"{count_text(self.count())}, compressed to {len(self._nodes)} nodes"

    def _repr_html_(self) -> str:
        from cepheid.matches.shapes.notebook import compressed_html

        return compressed_html(self)

    def expand(self) -> Matches:
        """All matches, built: the result of ``output="all"``."""
        empty = self._bindings(int64s(0), int64s(1))
        parts: list[Bindings] = []
        with building(self._budget, self._query) as charge:
            for block in self._blocks():
                charge(block.nbytes)
                parts.append(block)
        return self._matches(parts or [empty])

    def sample(self, size: int, seed: int | None = None) -> Matches:
        """Matches drawn uniformly at random, with replacement."""
        if size < 0:
            raise OptionError(f"a sample has at least 0 matches, not {size}")
        random = np.random.default_rng(seed)
        total = self._counts.sum()
        paths: list[list[int]] = []
        if total and size:
            chosen = random.choice(len(self._finals), size, p=self._counts / total)
            paths = [self._walk(self._finals[final], random) for final in chosen]
        offsets = np.cumsum([0, *map(len, paths)], dtype=np.int64)
        ids = np.array([tag for path in paths for tag in path], dtype=np.int64)
        return self._matches([self._bindings(ids, offsets)])

    def aggregate(self, function: str, value: str, *, by_partition: bool = False) -> Any:
        """An aggregate of an attribute over all matches, without building them.

        Each event of the variable counts once for every match that contains it, and null values
        are ignored.

        Args:
            function: ``sum``, ``min``, ``max``, ``avg`` or ``count``.
            value: a variable and its attribute, such as ``"b.price"``.
            by_partition: whether the result is a mapping of each partition, by the values of the
                equivalence tests, to its aggregate.

        >>> import cepheid as cep
        >>> q = cep.query("PATTERN SEQ(A a, B+ b[], C c)")
        >>> events = {"ts": list(range(202)), "type": ["A", *["B"] * 200, "C"]}
        >>> compressed = q.match({**events, "x": list(range(202))}, output="compressed")
        >>> compressed.aggregate("avg", "b.x"), compressed.aggregate("max", "b.x")
        (100.5, 200)
        >>> compressed.aggregate("count", "b.x") == 200 * 2**199
        True
        """
        variable, values = self._values_of(function, value)
        tests = [
            part.attribute
            for part in (self._query.condition.walk() if self._query.condition else ())
            if isinstance(part, ast.Equivalence)
        ]
        keys = [self._events.table.column(name).to_pylist() for name in tests if by_partition]

        def partition(event: int) -> Any:
            found = tuple(key[event] for key in keys)
            return found[0] if len(found) == 1 else found

        groups = totals_by(self._chains, variable, values, partition)
        results = {key: totals.result(function) for key, totals in groups.items()}
        if by_partition:
            return results
        return results[()] if results else Totals().result(function)

    def _values_of(self, function: str, value: str) -> tuple[int, list[Any]]:
        """The number of a variable, and the value of its attribute for each event."""
        if function not in AGGREGATIONS:
            raise OptionError(unknown_name("aggregate", function, AGGREGATIONS))
        name, _, attribute = value.replace("[]", "").partition(".")
        names, table = list(self._variables), self._events.table
        if name not in names:
            raise OptionError(unknown_name("variable", name, names))
        if attribute not in table.column_names:
            raise OptionError(unknown_name("attribute", attribute, table.column_names))
        values = [exact(each) for each in table.column(attribute).to_pylist()]
        if function in ("sum", "avg") and not all(
            each is None or isinstance(each, int | Fraction) for each in values
        ):
            raise OptionError(f"{function}({value}) needs numbers, and {attribute!r} has others")
        return names.index(name), values

    # --- counting

    @cached_property
    def _counts(self) -> npt.NDArray[np.float64]:
        return self._count(self._finals)

    def _count(self, finals: npt.NDArray[np.void]) -> npt.NDArray[np.float64]:
        counts = np.zeros(len(finals))
        stack = int64s(len(self._nodes) + 2)
        chains, at, drive = self._chains._replace(finals=finals), int64s(1), Drive()
        drive.run(lambda: count_finals(chains, stack, at, drive.pace, counts), {})
        return counts

    def _exact_count(self) -> int:
        """The number of matches as an integer of any size, if floats are no longer exact."""
        oldest = self._nodes["oldest"].tolist()
        previous, tags = self._nodes["previous"].tolist(), self._nodes["tag"].tolist()
        youngest = self._nodes["youngest"].tolist()
        chains: list[int] = []
        for before, tag in zip(previous, tags, strict=True):
            if tag >= 0:
                chains.append(chains[before] if before >= 0 else 1)
            else:
                chains.append(chains[before] + chains[-1 - tag])
        total = 0
        for head, after in zip(
            self._finals["head"].tolist(), self._finals["after"].tolist(), strict=True
        ):
            stack = [head]
            while stack:
                node = stack.pop()
                if node < 0:
                    total += 1
                elif youngest[node] > after:
                    if oldest[node] > after:
                        total += chains[node]
                    else:
                        stack.append(previous[node])
                        if tags[node] < 0:
                            stack.append(-1 - tags[node])
        return total

    # --- listing

    def _blocks(self) -> Iterator[Bindings]:
        lister = MatchLister(list(self._variables.values()))
        return map(self._timed, lister.blocks(self._chains, 0, len(self._events)))

    def _walk(self, final: np.void, random: np.random.Generator) -> list[int]:
        """One chain of a final, drawn at random."""
        path = [int(final["tag"])] if final["tag"] >= 0 else []
        node = int(final["head"])
        while node >= 0:
            tag, previous = int(self._nodes[node]["tag"]), int(self._nodes[node]["previous"])
            if tag >= 0:
                path.append(tag)
                node = previous
            else:
                branches = np.zeros(2, dtype=FINAL)
                branches["head"] = previous, -1 - tag
                branches["after"] = final["after"]
                left, right = self._count(branches)
                node = previous if random.random() * (left + right) < left else -1 - tag
        return path[::-1]

    def _bindings(self, tags: Int64s, begins: Int64s) -> Bindings:
        components = list(self._variables.values())
        return self._timed(Bindings.of_tags(tags, begins, components, 0))

    def _timed(self, block: Bindings) -> Bindings:
        ticks, block = self._events.ticks, replace(block, in_order=True)
        times = MatchTimes.of(ticks[block.first_events()], ticks[block.last_events()])
        return replace(block, known_times=times)

    def _matches(self, parts: list[Bindings]) -> Matches:
        return Matches(self._query, self._events, parts, self.metrics)
