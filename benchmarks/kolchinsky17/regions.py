"""Streams in the shape of those of [Kolchinsky17 §8], and the patterns that are looked for.

Stocks belong to eight regions, which are the types of events; how frequent a type is follows from
how many stocks its region has. Each event has the latest prices of its stock as a list, and all
patterns ask that the prices of any two of their events go up and down together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise, permutations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import csv, parquet

import cepheid as cep

STOCKS = {
    "NACompany": 1400,
    "AsCompany": 270,
    "EuCompany": 267,
    "MeCompany": 60,
    "SaCompany": 24,
    "OcCompany": 16,
    "AfrCompany": 8,
    "CarCompany": 2,
}
HISTORY = 20
THRESHOLD = 0.95


def corr(u: Sequence[float], v: Sequence[float]) -> float:
    """The correlation of two lists of prices [Pearson]."""
    n = len(u)
    su = sv = 0.0
    for i in range(n):
        su += u[i]
        sv += v[i]
    su /= n
    sv /= n
    uv = uu = vv = 0.0
    for i in range(n):
        du = u[i] - su
        dv = v[i] - sv
        uv += du * dv
        uu += du * du
        vv += dv * dv
    if uu == 0.0 or vv == 0.0:
        return 0.0
    return uv / math.sqrt(uu * vv)


def register() -> None:
    """Let queries call ``corr``."""
    cep.register_function("corr", corr)


def stream(
    minutes: float, per_minute: float, seed: int, stocks: Mapping[str, int] = STOCKS
) -> pa.Table:
    """Price updates of all stocks at random moments, as many per minute as given.

    The columns are ts, in seconds, type, price and history.
    """
    random = np.random.default_rng(seed)
    names = list(stocks)
    number = sum(stocks.values())
    region = np.repeat(np.arange(len(names)), list(stocks.values()))
    size = int(minutes * per_minute)
    ts = np.sort(random.random(size) * minutes * 60)
    stock = random.integers(0, number, size)
    walk = np.empty((size, HISTORY))
    order = np.argsort(stock, kind="stable")
    bounds = np.searchsorted(stock[order], np.arange(number + 1))
    for low, high in pairwise(bounds.tolist()):
        if high > low:
            steps = random.normal(size=HISTORY - 1 + high - low)
            prices = 100 + np.cumsum(steps)
            walk[order[low:high]] = np.lib.stride_tricks.sliding_window_view(prices, HISTORY)
    types = pa.DictionaryArray.from_arrays(pa.array(region[stock].astype(np.int32)), names)
    return _table(ts, types, walk)


def stream_of_bars(path: Path, seed: int) -> pa.Table:
    """Price updates read from a CSV or Parquet file, as :func:`stream` generates them.

    Its columns are ts (in seconds), stock, price and region. Without regions, each stock gets one
    at random, as many as there are in STOCKS for every stock of it.
    """
    is_parquet = path.suffix == ".parquet"
    bars = (parquet.read_table(path) if is_parquet else csv.read_csv(path)).sort_by("ts")
    stock = bars["stock"].combine_chunks().dictionary_encode()
    number, codes = len(stock.dictionary), stock.indices.to_numpy()
    if "region" in bars.column_names:
        types = bars["region"].combine_chunks().dictionary_encode()
    else:
        shares = np.array(list(STOCKS.values())) / sum(STOCKS.values())
        region = np.random.default_rng(seed).choice(len(STOCKS), number, p=shares)
        types = pa.DictionaryArray.from_arrays(
            pa.array(region[codes].astype(np.int32)), list(STOCKS)
        )
    prices = bars["price"].to_numpy().astype(float)
    past = np.repeat(prices[:, np.newaxis], HISTORY, axis=1)
    for code in range(number):
        own = np.flatnonzero(codes == code)
        padded = np.concatenate([np.repeat(prices[own[:1]], HISTORY - 1), prices[own]])
        past[own] = np.lib.stride_tricks.sliding_window_view(padded, HISTORY)
    return _table(bars["ts"].to_numpy().astype(float), types, past)


def _table(ts: npt.NDArray[np.float64], types: pa.Array, past: npt.NDArray[np.float64]) -> pa.Table:
    """Events with their latest prices, of which the last one is that of the event."""
    offsets = np.arange(0, (len(ts) + 1) * HISTORY, HISTORY)
    history = pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(past.ravel()))
    return pa.table({"ts": ts, "type": types, "price": past[:, -1], "history": history})


def changing_stream(size: int, rare: int, every: int, seed: int) -> pa.Table:
    """Events of types A, B and C, of which another is the rare one after every so many events."""
    random = np.random.default_rng(seed)
    rarest = np.arange(size) // every % 3
    others = (rarest + 1 + random.integers(0, 2, size)) % 3
    types = np.where(random.random(size) < 1 / rare, rarest, others)
    names = pa.DictionaryArray.from_arrays(pa.array(types.astype(np.int32)), ["A", "B", "C"])
    return pa.table({"ts": np.arange(size), "type": names, "x": random.random(size)})


def correlated(variables: Sequence[str]) -> str:
    """Every two of these variables go together."""
    return " AND ".join(
        f"corr({a}.history, {b}.history) > {THRESHOLD}" for a, b in combinations(variables, 2)
    )


def pattern_text(pattern: str, variables: Sequence[Sequence[str]], window: float) -> str:
    """A query; the variables of each list go together, two by two."""
    condition = " AND ".join(correlated(group) for group in variables)
    return (
        f"PATTERN {pattern}\nWHERE skip_till_any_match {{ {condition} }}\nWITHIN {window} minutes"
    )


SEQ5 = "NACompany a, AsCompany b, EuCompany c, MeCompany d, AfrCompany e"
PATTERNS: dict[str, tuple[str, Sequence[Sequence[str]]]] = {
    "SEQ3": ("SEQ(NACompany a, EuCompany b, AfrCompany c)", ["abc"]),
    "SEQ4": ("SEQ(NACompany a, AsCompany b, EuCompany c, AfrCompany d)", ["abcd"]),
    "SEQ5": (f"SEQ({SEQ5})", ["abcde"]),
    "AND2": ("AND(EuCompany a, AfrCompany b)", ["ab"]),
    "AND3": ("AND(MeCompany a, SaCompany b, AfrCompany c)", ["abc"]),
    "NEG-SEQ3": ("SEQ(NACompany a, ~(EuCompany b), AfrCompany c)", ["abc"]),
    "NEG-AND3": ("AND(EuCompany a, ~(SaCompany b), AfrCompany c)", ["abc"]),
    "NEG-SEQ5": (f"SEQ({SEQ5.replace('AsCompany b', '~(AsCompany b)')})", ["abcde"]),
    # nfa_b cannot compare every event of b with c, which comes later.
    "ITER3": (
        "SEQ(EuCompany a, SaCompany+ b[], AfrCompany c)",
        [("a", "b[i]"), ("a", "c")],
    ),
    "OR2SEQ2": (
        "OR(SEQ(NACompany a, AfrCompany b), SEQ(AsCompany c, CarCompany d))",
        ["ab", "cd"],
    ),
    "OR4SEQ2": (
        "OR(SEQ(NACompany a, AfrCompany b), SEQ(AsCompany c, CarCompany d), "
        "SEQ(EuCompany e, OcCompany f), SEQ(MeCompany g, SaCompany h))",
        ["ab", "cd", "ef", "gh"],
    ),
    "OR2SEQ4": (
        "OR(SEQ(NACompany a, AsCompany b, EuCompany c, AfrCompany d), "
        "SEQ(NACompany e, EuCompany f, MeCompany g, CarCompany h))",
        ["abcd", "efgh"],
    ),
}


def eager_text(name: str, window: float) -> str:
    """A query that nfa_b runs and that has the same matches.

    Without AND it is the same one. AND is an OR of all orders of its parts; what must not be there
    must not be before, between and after them, and has a name of its own in each of these places.
    """
    pattern, groups = PATTERNS[name]
    if not pattern.startswith("AND"):
        return pattern_text(pattern, groups, window)
    parts = pattern.removeprefix("AND(").removesuffix(")").split(", ")
    negated = [part for part in parts if part.startswith("~")]
    present = [part for part in parts if part not in negated]
    orders = [_with_negations(order, negated) for order in permutations(present)]
    names = {part.removesuffix(")").split()[1] for part in negated}
    copies = [
        [f"{each}{place}" if each in names else each for each in group]
        for group in groups
        for place in range(len(present) + 1)
    ]
    pairs = dict.fromkeys(pair for group in copies for pair in combinations(group, 2))
    alternatives = ", ".join(f"SEQ({', '.join(order)})" for order in orders)
    return pattern_text(f"OR({alternatives})", list(pairs), window)


def _with_negations(present: Sequence[str], negated: Sequence[str]) -> list[str]:
    """The parts, with what must not be there before, between and after them."""
    parts: list[str] = []
    for place in range(len(present) + 1):
        parts += [part.replace(")", f"{place})") for part in negated]
        parts += present[place : place + 1]
    return parts
