"""Bundled scenarios: a question, a query that answers it, and a stream of events.

The three are the introductory queries of [Agrawal08 Figure 1]: a negation, a Kleene plus under
skip_till_any_match, and a Kleene plus with a running aggregate under skip_till_next_match.
Events are generated, not stored: the same count and seed give the same table. In each stream
some matches are planted and the rest is noise, which may add more matches.

:mod:`cepheid.samples.cluster_load` is a cluster of computers with uncertain times
[Zhang10 §3.1].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cepheid.errors import OptionError, unknown_name
from cepheid.samples import contaminated_shipments, retail_theft, stock_trend

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SCENARIOS", "Scenario", "scenario"]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A question about a stream of events, with the stream.

    >>> theft = scenario("retail_theft")
    >>> theft.question
    'Which items left the store without passing a register?'
    >>> theft.events(count=300, seed=7).column_names
    ['ts', 'type', 'tag_id', 'product', 'zone']
    """

    name: str
    title: str
    question: str
    query: str
    default_count: int
    generate: Callable[[int, int], pa.Table]

    def events(self, count: int | None = None, seed: int = 0) -> pa.Table:
        """Generate ``count`` events in time order; the same seed gives the same events."""
        count = self.default_count if count is None else count
        if count < 0 or seed < 0:
            raise OptionError(f"count and seed are not negative, but {count} and {seed} were given")
        return self.generate(count, seed)


SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        name="retail_theft",
        title="Items that leave a store unpaid",
        question="Which items left the store without passing a register?",
        query=retail_theft.QUERY,
        default_count=900,
        generate=retail_theft.generate,
    ),
    Scenario(
        name="contaminated_shipments",
        title="Contamination that spreads along shipments",
        question="Along which chains of shipments did goods from a contaminated site travel?",
        query=contaminated_shipments.QUERY,
        default_count=600,
        generate=contaminated_shipments.generate,
    ),
    Scenario(
        name="stock_trend",
        title="Stocks whose volume plummets after a rise",
        question="Which stocks began with a high volume, kept rising, and then lost their buyers?",
        query=stock_trend.QUERY,
        default_count=1500,
        generate=stock_trend.generate,
    ),
)


def scenario(name: str) -> Scenario:
    """The scenario with this name.

    >>> scenario("stock_trend").title
    'Stocks whose volume plummets after a rise'
    """
    by_name = {known.name: known for known in SCENARIOS}
    if name not in by_name:
        raise OptionError(unknown_name("scenario", name, list(by_name)))
    return by_name[name]
