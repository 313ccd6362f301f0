"""The stock stream and the six queries of [Agrawal08 §6].

Volume and symbol are uniform. The price of a symbol is a walk with steps of 1 that rises with a
given probability and falls or stays with half of the rest each. It takes the values 1 to 999
and goes round at the end, so that 500 is the only price where a run can start: one that starts
there has 499 prices above it before the walk goes round and cuts it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from cepheid.events.events import Events, order_events

SYMBOLS = 2
PRICES = 999
PREDICATES = {
    "p1": "",
    "p2": "AND a[i].price > a[i-1].price ",
    "p3": "AND a[i].price > min(a[..i-1].price) ",
}
SELECTION_STRATEGIES = {"s2": "partition_contiguity", "s3": "skip_till_next_match"}
QUERIES = tuple(p + s for p in PREDICATES for s in SELECTION_STRATEGIES)
PREDICATES |= {
    f"p3 {name}": PREDICATES["p3"].replace("min(", f"{name}(") for name in ("max", "avg")
}
"""The third predicate, of the least price, and the same of the greatest and of the mean."""


def query_text(name: str, window: int) -> str:
    """The query of a name such as ``p2s3`` or ``p3 maxs3``.

    >>> print(query_text("p2s3", 500))
    PATTERN SEQ(stock+ a[], stock b)
    WHERE skip_till_next_match { [symbol] AND a[1].price % 500 = 0 AND a[i].price > a[i-1].price \
AND b.volume < 150 }
    WITHIN 500 EVENTS PER PARTITION
    """
    predicate, strategy = PREDICATES[name[:-2]], SELECTION_STRATEGIES[name[-2:]]
    return (
        "PATTERN SEQ(stock+ a[], stock b)\n"
        f"WHERE {strategy} {{ [symbol] AND a[1].price % 500 = 0 {predicate}"
        "AND b.volume < 150 }\n"
        f"WITHIN {window} EVENTS PER PARTITION"
    )


class StockStream:
    """Batches of one endless stream: the prices of a batch go on from the one before."""

    def __init__(self, rises: float, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self._steps = np.array([rises, (1 - rises) / 2, (1 - rises) / 2])
        self._price = np.zeros(SYMBOLS, dtype=np.int64)
        self._time = 0

    def table(self, size: int) -> pa.Table:
        """The next events as a table with the columns ts, type, symbol, price and volume."""
        random = self._random
        symbol = random.integers(1, SYMBOLS + 1, size)
        draw = random.random(size)
        step = np.where(draw < self._steps[0], 1, 0)
        step[draw >= self._steps[0] + self._steps[1]] = -1
        price = np.empty(size, dtype=np.int64)
        for number in range(SYMBOLS):
            of_symbol = symbol == number + 1
            walk = self._price[number] + np.cumsum(step[of_symbol])
            price[of_symbol] = walk % PRICES + 1
            if len(walk):
                self._price[number] = walk[-1] % PRICES
        ts = np.arange(self._time, self._time + size)
        self._time += size
        types = pa.DictionaryArray.from_arrays(pa.array(np.zeros(size, np.int32)), ["stock"])
        volume = random.integers(1, 1001, size)
        columns = {"ts": ts, "type": types, "symbol": symbol, "price": price, "volume": volume}
        return pa.table(columns)

    def events(self, size: int) -> Events:
        """The next events, as a session reads them."""
        return order_events(self.table(size))

    def batches(self, count: int, size: int) -> Iterator[Events]:
        """So many batches of so many events."""
        for _ in range(count):
            yield self.events(size)
