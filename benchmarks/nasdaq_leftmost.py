"""``python -m benchmarks.nasdaq_leftmost BARS.csv``: rises and drops, beside a loop in pandas.

Finds five or more rising closes of a symbol in a row, followed by a drop of more than 0.5 %, each
stretch once (``OUTPUT LEFTMOST``). The file of bars has the columns ``ts_strict_ms``, ``type`` (the
symbol) and ``close``. The loop reads the bars of each symbol one by one, and must find the same.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import pandas as pd

import cepheid as cep

QUERY = """
PATTERN SEQ(Bar{5,} a[], Bar b)
WHERE partition_contiguity {
    [symbol] AND a[i].close > a[i-1].close AND b.close < a[a.LEN].close * 0.995
}
RETURN a[1].symbol AS symbol, a[1].ts AS rises, b.ts AS drops, a.LEN AS bars
OUTPUT LEFTMOST
"""

Found = list[tuple[str, int, int, int]]
"""The symbol, the times of the first bar of the rise and of the drop, the length of the rise."""


def read_bars(path: Path) -> pd.DataFrame:
    """The bars in time order, with a column for the symbol."""
    bars = pd.read_csv(path, usecols=["ts_strict_ms", "type", "close"])
    bars = bars.rename(columns={"type": "symbol", "ts_strict_ms": "ts"}).sort_values("ts")
    return bars.assign(type="Bar").reset_index(drop=True)


def by_query(bars: pd.DataFrame) -> Found:
    """What the query finds."""
    found = cep.query(QUERY).match(bars).to_pandas()
    rows = found[["symbol", "rises", "drops", "bars"]].itertuples(index=False, name=None)
    return sorted((str(symbol), int(a), int(b), int(count)) for symbol, a, b, count in rows)


def by_loop(bars: pd.DataFrame) -> Found:
    """What a loop over the bars of each symbol finds.

    >>> closes = [1, 2, 3, 4, 5, 6, 5, 6, 7]
    >>> by_loop(pd.DataFrame({"ts": range(9), "symbol": "X", "close": closes, "type": "Bar"}))
    [('X', 0, 6, 6)]
    """
    found: Found = []
    for symbol, group in bars.groupby("symbol"):
        times, closes = group["ts"].tolist(), group["close"].tolist()
        first = 0
        while first < len(closes):
            last = first
            while last + 1 < len(closes) and closes[last + 1] > closes[last]:
                last += 1
            drop = last + 1
            is_long = last - first + 1 >= 5
            if is_long and drop < len(closes) and closes[drop] < closes[last] * 0.995:
                found.append((str(symbol), times[first], times[drop], last - first + 1))
                first = drop + 1
            else:
                first += 1
    return sorted(found)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare the two, and print what they found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bars", type=Path, nargs="+", help="CSV files of bars")
    for path in parser.parse_args(arguments).bars:
        bars = read_bars(path)
        by_query(bars)  # compiles the query
        begun = perf_counter()
        found = by_query(bars)
        middle = perf_counter()
        expected = by_loop(bars)
        ended = perf_counter()
        assert found == expected, (found, expected)
        print(
            f"{path.name}: {len(bars):,} bars of {bars['symbol'].nunique()} symbols, "
            f"{len(found)} matches; query {1000 * (middle - begun):.1f} ms, "
            f"loop {1000 * (ended - middle):.1f} ms"
        )


if __name__ == "__main__":
    main()
