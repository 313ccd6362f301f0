"""SQL statements with ``MATCH_RECOGNIZE``, changed token by token."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import cepheid as cep
from fuzz.texts import mutated

STATEMENTS = (
    "SELECT id, m.n + 1 AS n FROM ticks MATCH_RECOGNIZE (PARTITION BY id ORDER BY ts "
    "MEASURES count(D.*) AS n, LAST(D.x) AS x PATTERN (S D+ U*) "
    "DEFINE D AS x < PREV(x), U AS U.x > LAST(D.x, 1)) AS m WHERE n > 1 ORDER BY 1",
    "WITH falls AS (SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY ts MEASURES A.x AS ax "
    "ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP TO NEXT ROW PATTERN ((A | B){2,}?) "
    "SUBSET S = (A, B) DEFINE A AS x > 1)) SELECT count(*) FROM falls f JOIN ticks t USING (ts)",
    "SELECT * FROM (SELECT ts, x FROM ticks WHERE x IS NOT NULL) MATCH_RECOGNIZE (ORDER BY ts "
    "MEASURES MATCH_NUMBER() AS n, CLASSIFIER() AS c, FINAL sum(x) AS s "
    "ALL ROWS PER MATCH PATTERN (^ PERMUTE(A, B) {- C* -} $?) WITHIN INTERVAL '5' SECOND "
    "DEFINE A AS x > 1, B AS x < NEXT(x, 2)) LIMIT 3 -- the end",
    "CREATE TEMPORARY VIEW v AS SELECT * FROM ticks MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS x=1)",
    "SELECT 'MATCH_RECOGNIZE (', \"ts\" FROM ticks /* MATCH_RECOGNIZE ( */ AS t",
)
TICKS = {
    "ts": list(range(8)),
    "id": list("aabbabab"),
    "x": [5, 4, None, 3, 2, 6, 1, 7],
    "s": list("pqrspqrs"),
}


def hostile_statement(random: Random) -> tuple[str, Callable[[], object]]:
    """A statement, and the function that runs it over a small table."""
    text = random.choice(STATEMENTS)
    if random.random() < 0.95:
        text = mutated(random, text)
    return text, lambda: repr(cep.sql(text, {"ticks": TICKS}, time_unit="s", max_steps=10_000))
