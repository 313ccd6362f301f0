"""All matches in the buffer that the runs share: counted, listed and sampled without a copy.

The number of matches can be exponential in the window; the size of the buffer is not. A *final*
represents all chains of events that end in one node of the buffer and start inside the window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cepheid.budget import Budget
from cepheid.codegen.layout import NONE, TAG_SHIFT
from cepheid.errors import OptionError, unknown_name
from cepheid.events.arrays import Int64s, int64s
from cepheid.events.events import Events
from cepheid.jit.drive import Drive
from cepheid.language import syntax as ast
from cepheid.matches.aggregation import AGGREGATIONS, Aggregation, AttributeValues, Totals
from cepheid.matches.bindings import (
    Bindings,
    MatchTimes,
    joined_bindings,
    no_matches,
    with_variables,
)
from cepheid.matches.held import building
from cepheid.matches.kernels.match_columns import count_finals
from cepheid.matches.layout import FINAL, Chains, Counting
from cepheid.matches.match_columns import MatchLister
from cepheid.matches.matches import Match, Matches, count_text
from cepheid.matches.metrics import Metrics
from cepheid.matches.sliding import SlidingWindows

_EXACT = 2.0**53


@dataclass(frozen=True, eq=False)
class ChainPart:
    """The matches of one alternative: chains, and the components that their events belong to.

    Nodes are never dropped, so their numbers are their places. ``ends`` has the end times of
    matches with these times of their first and last events.
    """

    chains: Chains
    components: Sequence[ast.Component]
    ends: Callable[[Int64s, Int64s], Int64s]

    def pick(self, finals: Int64s) -> ChainPart:
        """The matches of some finals."""
        return replace(self, chains=self.chains._replace(finals=self.chains.finals[finals]))

    @cached_property
    def counts(self) -> npt.NDArray[np.float64]:
        """The number of matches of each final; exact below 2 ** 53."""
        return self._count(self.chains.finals)

    def count(self) -> int:
        """The exact number of matches."""
        total = float(self.counts.sum())
        if total < _EXACT:
            return int(total)
        groups = int64s(len(self.chains.finals))
        (totals,) = self.totals(self.chains, None, AttributeValues.none(), groups)
        return totals.matches

    @cached_property
    def _counting(self) -> Counting:
        return Counting.of(len(self.chains.nodes))

    def _count(self, finals: npt.NDArray[np.void]) -> npt.NDArray[np.float64]:
        counts = np.zeros(len(finals))
        chains, at, drive = self.chains._replace(finals=finals), int64s(1), Drive()
        drive.run(lambda: count_finals(chains, self._counting, at, drive.pace, counts), {})
        return counts

    def totals(
        self, chains: Chains, variable: str | None, values: AttributeValues, group_of: Int64s
    ) -> list[Totals]:
        """The totals of a variable, which need not be bound, for each group of finals.

        ``chains`` has these finals, or some of their matches.
        """
        names = [component.variable for component in self.components]
        number = names.index(variable) if variable in names else NONE
        groups = int(group_of.max(initial=-1)) + 1
        wanted = Aggregation(chains, number, values, group_of, groups)
        return wanted.totals(float(self.counts.sum()))

    def last_events(self) -> Int64s:
        """The last event of the matches of each final."""
        nodes, finals = self.chains.nodes, self.chains.finals
        heads, tags = finals["head"].copy(), finals["tag"].copy()
        while len(missing := np.flatnonzero(tags < 0)):
            at = heads[missing]
            tags[missing], heads[missing] = nodes["tag"][at], nodes["previous"][at]
        return tags >> TAG_SHIFT

    def representatives(self) -> Bindings:
        """One match of each final, of whose lists only the first and the last event are kept."""
        nodes, finals = self.chains.nodes, self.chains.finals
        numbers, heads, after = np.arange(len(finals)), finals["head"].copy(), finals["after"]
        ended = np.flatnonzero(finals["tag"] >= 0)
        # What was met: tags, and the finals that they are of; from the last event to the first.
        tags, of = [finals["tag"][ended]], [ended]
        while len(numbers := numbers[heads[numbers] >= 0]):
            at = heads[numbers]
            tag, previous = nodes["tag"][at], nodes["previous"][at]
            is_alive = (previous >= 0) & (nodes["youngest"][previous] > after[numbers])
            heads[numbers] = np.where((tag >= 0) | is_alive, previous, -1 - tag)
            of.append(numbers[tag >= 0])
            tags.append(tag[tag >= 0])
        joined, final = np.concatenate(tags)[::-1], np.concatenate(of)[::-1]
        order = np.argsort(final, kind="stable")
        joined, final = joined[order], final[order]
        # In a list, whose tags are of the same component, all but the ends are left out.
        group = (final << TAG_SHIFT) + (joined & ((1 << TAG_SHIFT) - 1))
        is_edge = np.ones(len(group), dtype=np.bool_)
        is_edge[1:-1] = (group[1:-1] != group[:-2]) | (group[1:-1] != group[2:])
        joined, final = joined[is_edge], final[is_edge]
        begins = np.searchsorted(final, np.arange(len(finals) + 1)).astype(np.int64)
        return Bindings.of_tags(np.ascontiguousarray(joined), begins, list(self.components), 0)

    def sample(self, size: int, random: np.random.Generator) -> Bindings:
        """Matches drawn uniformly at random, with replacement."""
        paths: list[list[int]] = []
        if size:
            likely = self.counts / self.counts.sum()
            chosen = random.choice(len(self.chains.finals), size, p=likely)
            paths = [self._walk(self.chains.finals[final], random) for final in chosen]
        offsets = np.cumsum([0, *map(len, paths)], dtype=np.int64)
        tags = np.array([tag for path in paths for tag in path], dtype=np.int64)
        return Bindings.of_tags(tags, offsets, list(self.components), 0)

    def _walk(self, final: np.void, random: np.random.Generator) -> list[int]:
        """One chain of a final, drawn at random."""
        path = [int(final["tag"])] if final["tag"] >= 0 else []
        node, nodes = int(final["head"]), self.chains.nodes
        while node >= 0:
            tag, previous = int(nodes[node]["tag"]), int(nodes[node]["previous"])
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
        parts: Sequence[ChainPart],
        metrics: Metrics,
        budget: Budget,
    ) -> None:
        self.metrics = metrics
        self._budget = budget
        self._query = query
        self._events = events
        self._variables = variables
        self._parts = parts

    def count(self) -> int:
        """The exact number of matches, however many there are."""
        return sum(part.count() for part in self._parts)

    def __iter__(self) -> Iterator[Match]:
        """The matches one by one; only one block of them is in memory."""
        for block in self._blocks():
            yield from self._matches([block])

    def __repr__(self) -> str:
        nodes = sum(len(part.chains.nodes) for part in self._parts)
        return f"{count_text(self.count())}, compressed to {nodes} nodes"

    def _repr_html_(self) -> str:
        from cepheid.matches.shapes.notebook import compressed_html

        return compressed_html(self)

    def expand(self) -> Matches:
        """All matches, built: the result of ``output="all"``."""
        parts = [self._nothing]
        with building(self._budget, self._query) as charge:
            for block in self._blocks():
                charge(block.nbytes)
                parts.append(block)
        lasts = np.concatenate([part.last_events() for part in parts])
        order = np.lexsort((lasts, np.concatenate([part.ends for part in parts])))
        if (np.diff(order) < 0).any():
            return self._matches([joined_bindings(parts).pick(order)])
        return self._matches(parts[1:] or parts)

    def sample(self, size: int, seed: int | None = None) -> Matches:
        """Matches drawn uniformly at random, with replacement."""
        if size < 0:
            raise OptionError(f"a sample has at least 0 matches, not {size}")
        random = np.random.default_rng(seed)
        found = [self._nothing]
        totals = np.array([part.counts.sum() for part in self._parts])
        if totals.sum() and size:
            sizes = random.multinomial(size, totals / totals.sum())
            for part, each in zip(self._parts, sizes.tolist(), strict=True):
                found.append(self._timed(part, part.sample(each, random)))
        return self._matches([joined_bindings(found)])

    def aggregate(
        self, function: str, value: str, *, by_partition: bool = False, every: Any = None
    ) -> Any:
        """An aggregate of an attribute over all matches, without building them.

        Each event of the variable counts once for every match that contains it, and null values
        are ignored.

        Args:
            function: ``sum``, ``min``, ``max``, ``avg`` or ``count``.
            value: a variable and its attribute, such as ``"b.price"``; ``"*"`` counts matches.
            by_partition: whether the result is a mapping of each partition, by the values of the
                equivalence tests, to its aggregate.
            every: the step of sliding windows, such as ``"1 minute"``. The windows are as long as
                WITHIN and begin at multiples of the step. In place of an aggregate, there is then a
                mapping of the start of each window with a match in it to the aggregate over the
                matches in it. Starts are in UTC if the time column has a time zone.

        >>> import cepheid as cep
        >>> q = cep.query("PATTERN SEQ(A a, B+ b[], C c)")
        >>> events = {"ts": list(range(202)), "type": ["A", *["B"] * 200, "C"]}
        >>> compressed = q.match({**events, "x": list(range(202))}, output="compressed")
        >>> compressed.aggregate("avg", "b.x"), compressed.aggregate("max", "b.x")
        (100.5, 200)
        >>> compressed.aggregate("count", "b.x") == 200 * 2**199
        True
        >>> q = cep.query("PATTERN SEQ(A a, B+ b[]) WITHIN 4")
        >>> events = {"ts": [1, 2, 5, 6], "type": ["A", "B", "A", "B"]}
        >>> compressed = q.match(events, output="compressed")
        >>> compressed.aggregate("count", "*", every=2)
        {0: 1, 4: 1}
        """
        if function not in AGGREGATIONS:
            raise OptionError(unknown_name("aggregate", function, AGGREGATIONS))
        variable, values = self._values(function, value)
        windows = None
        if every is not None:
            windows = SlidingWindows.of(every, self._query, self._events.time_axis)
        keys, group_of = self._groups(by_partition)
        totals: dict[tuple[int, int], Totals] = {}
        low = 0
        for part in self._parts:
            groups, chains = group_of[low : low + len(part.chains.finals)], part.chains
            low += len(groups)
            window = int64s(len(groups))
            if windows is not None:
                ends = self._events.ticks[part.last_events()]
                windows.check_room(ends, self._budget)
                chains, of, window = windows.split(chains, ends)
                groups = groups[of]
            pairs, group_of_final = _distinct_pairs(groups, window)
            found = part.totals(chains, variable, values, group_of_final)
            for pair, each in zip(pairs, found, strict=True):
                totals[pair] = totals.get(pair, Totals()) + each
        if windows is None:
            known = [totals.get((key, 0), Totals()) for key in range(len(keys))]
            results = [values.result(function, each) for each in known]
            return dict(zip(keys, results, strict=True)) if by_partition else results[0]
        inside = sorted(pair for pair, each in totals.items() if each.matches)
        starts = windows.starts([number for _, number in inside], self._events.time_axis)
        sliding: dict[Any, dict[Any, Any]] = {key: {} for key in keys}
        for pair, start in zip(inside, starts, strict=True):
            sliding[keys[pair[0]]][start] = values.result(function, totals[pair])
        return sliding if by_partition else sliding[keys[0]]

    def _values(self, function: str, value: str) -> tuple[str | None, AttributeValues]:
        """A variable and the values of its attribute; neither if matches are counted."""
        if value.strip() == "*":
            if function != "count":
                raise OptionError(f"{function}(*) needs an attribute; only count(*) has none")
            return None, AttributeValues.none()
        variable, attribute = self._read_value(value)
        return variable, AttributeValues(self._column(attribute), function, value)

    def _read_value(self, value: str) -> tuple[str, str]:
        """The names of a variable and of its attribute."""
        name, _, attribute = value.replace("[]", "").partition(".")
        names, known = list(self._variables), self._events.table.column_names
        if name not in names:
            raise OptionError(unknown_name("variable", name, names))
        if attribute not in known:
            raise OptionError(unknown_name("attribute", attribute, known))
        return name, attribute

    def _column(self, attribute: str) -> pa.ChunkedArray:
        """An attribute of all events, null for those whose type does not have it."""
        events = self._events
        column = events.table.column(attribute)
        has = np.array([events.schema.has_attribute(name, attribute) for name in events.type_names])
        if has.all():
            return column
        lacks = pa.array(~has[events.type_codes])
        return pc.if_else(lacks, pa.scalar(None, column.type), column)

    def _groups(self, by_partition: bool) -> tuple[list[Any], Int64s]:
        """The partitions of the matches, and the number of that of each final; or one for all."""
        last = np.concatenate([part.last_events() for part in self._parts])
        if not by_partition:
            return [()], int64s(len(last))
        conditions = self._query.condition.walk() if self._query.condition else ()
        tests = [each.attribute for each in conditions if isinstance(each, ast.Equivalence)]
        table, rows = self._events.table, pa.array(last)
        keys = [
            table.column(name).take(rows).combine_chunks().dictionary_encode("encode")
            for name in tests
        ]
        codes = [key.indices.to_numpy(zero_copy_only=False) for key in keys]
        distinct, group_of = np.unique(
            np.column_stack([*codes, int64s(len(last))]), axis=0, return_inverse=True
        )
        named = [
            tuple(key.dictionary[code].as_py() for key, code in zip(keys, row, strict=False))
            for row in distinct.tolist()
        ]
        return [each[0] if len(each) == 1 else each for each in named], group_of.reshape(-1)

    # --- listing

    def _blocks(self) -> Iterator[Bindings]:
        for part in self._parts:
            lister = MatchLister(part.components)
            for block in lister.blocks(part.chains, 0, len(self._events)):
                yield self._timed(part, block)

    def _timed(self, part: ChainPart, block: Bindings) -> Bindings:
        ticks, block = self._events.ticks, replace(block, in_order=True)
        starts = ticks[block.first_events()]
        ends = part.ends(starts, ticks[block.last_events()])
        block = replace(block, known_times=MatchTimes.of(starts, ends))
        return with_variables(block, list(self._variables.values()))

    @property
    def _nothing(self) -> Bindings:
        return self._timed(self._parts[0], no_matches([*self._variables.values()]))

    def _matches(self, parts: list[Bindings]) -> Matches:
        return Matches(self._query, self._events, parts, self.metrics)


def _distinct_pairs(groups: Int64s, numbers: Int64s) -> tuple[list[tuple[int, int]], Int64s]:
    """The distinct pairs of a group and another number, and the index of the pair at each place.

    >>> _distinct_pairs(np.array([0, 1, 0]), np.array([5, 5, 5]))
    ([(0, 5), (1, 5)], array([0, 1, 0]))
    """
    least = int(numbers.min(initial=0))
    span = int(numbers.max(initial=0)) - least + 1
    distinct, index = np.unique(groups * span + (numbers - least), return_inverse=True)
    pairs = zip((distinct // span).tolist(), (distinct % span + least).tolist(), strict=True)
    return list(pairs), index.reshape(-1)
