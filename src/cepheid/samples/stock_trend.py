"""A day of trading: ticks of a few stocks in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    Volumes = NDArray[np.int64]
    Returns = NDArray[np.float64]

QUERY = """\
PATTERN SEQ(Stock+ a[], Stock b)
WHERE skip_till_next_match(a[], b) {
    [symbol]
    AND a[1].volume > 1000
    AND a[i].price > avg(a[..i-1].price)
    AND b.volume < 80% * a[a.LEN].volume
}
WITHIN 1 hour
RETURN b.symbol AS symbol, a[1].ts AS began, a.LEN AS ticks,
       a[1].volume AS high_volume, b.ts AS plummeted, b.volume AS low_volume
"""

OPENING_MS = 1_709_544_600_000  # 2024-03-04 09:30
TICK_MS = 20_000
SYMBOLS = ("ALDR", "BRCH", "CEDR", "HAZL", "MAPL", "ROWN")

# Ticks of one symbol that a trend fits into. They take 20 minutes, well within the window.
TREND_TICKS = 10
EVENTS_PER_TREND = 250

# Half-open ranges of the volume. No everyday volume is below 80% of another, nor of an active one.
EVERYDAY_VOLUME = (900, 1001)
ACTIVE_VOLUME = (1010, 1101)
QUIET_VOLUME = (500, 701)
ACTIVE_SHARE = QUIET_SHARE = 0.01


def generate(count: int, seed: int) -> pa.Table:
    """Generate prices on a random walk with volumes up to 1000, and a few planted trends.

    There is one trend in every 250 events, if the stream is long enough, and each is one match of
    the query. Noise adds matches: a quiet tick within an hour of an active one, or of a trend, may
    be the end of another match.

    >>> events = generate(600, seed=1)
    >>> events.num_rows, len(set(events["symbol"].to_pylist()))
    (600, 6)
    """
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    # One row for each round of ticks, one column for each symbol; the last round may be cut short.
    full_rounds = count // len(SYMBOLS)
    shape = (full_rounds + 1, len(SYMBOLS))
    returns = rng.normal(0, 0.001, shape)
    volumes = _everyday_volumes(rng, shape)
    places = full_rounds // TREND_TICKS * len(SYMBOLS)
    trends = min(places, count // EVENTS_PER_TREND)
    for place in rng.choice(places, size=trends, replace=False):
        stretch, symbol_ix = divmod(int(place), len(SYMBOLS))
        rounds = slice(stretch * TREND_TICKS, (stretch + 1) * TREND_TICKS)
        _plant_trend(rng, returns[rounds, symbol_ix], volumes[rounds, symbol_ix])
    prices = rng.uniform(20, 200, len(SYMBOLS)) * np.exp(np.cumsum(returns, axis=0))
    ts = OPENING_MS + np.arange(count) * TICK_MS + rng.integers(0, TICK_MS, size=count)
    return pa.table(
        {
            "ts": pa.array(ts, pa.timestamp("ms")),
            "type": pa.array(["Stock"] * count, pa.string()),
            "symbol": pa.array([SYMBOLS[ix % len(SYMBOLS)] for ix in range(count)], pa.string()),
            "price": pa.array(prices.ravel()[:count].round(2), pa.float64()),
            "volume": pa.array(volumes.ravel()[:count], pa.int64()),
        }
    )


def _everyday_volumes(rng: np.random.Generator, shape: tuple[int, int]) -> Volumes:
    """Volumes that neither begin nor end a trend, except for a few active and quiet ticks."""
    volumes = rng.integers(*EVERYDAY_VOLUME, size=shape)
    activity = rng.random(shape)
    active = activity < ACTIVE_SHARE
    quiet = activity > 1 - QUIET_SHARE
    volumes[active] = rng.integers(*ACTIVE_VOLUME, size=active.sum())
    volumes[quiet] = rng.integers(*QUIET_VOLUME, size=quiet.sum())
    return volumes


def _plant_trend(rng: np.random.Generator, returns: Returns, volumes: Volumes) -> None:
    """Write a trend into the stretch of one symbol: a rise of 4 to 8 ticks, then the plummet.

    Only the first volume is above 1000, and the other volumes of the rise are above 80% of it. So
    one run begins here, and nothing before the plummet ends it.
    """
    rise = int(rng.integers(4, 9))
    volumes[0] = rng.integers(1150, 1201)
    volumes[1:rise] = rng.integers(970, 1001, size=rise - 1)
    volumes[rise] = rng.integers(300, 501)
    returns[1:rise] = rng.uniform(0.002, 0.006, size=rise - 1)
    returns[rise] = -rng.uniform(0.02, 0.04)
