"""The cells of the notebooks; ``make notebooks`` executes them and writes them beside this file.

A cell that starts with ``#`` and a space, or with ``##``, is Markdown; any other is code.
"""

LOAD = "%load_ext cepheid\nimport cepheid as cep"

SPARK = """\
## The same on Spark

The query is the same for a Spark DataFrame. The result is a DataFrame."""

SESSION = """\
from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.session.timeZone", "UTC")
    .getOrCreate()
)
frame = spark.createDataFrame({events})"""

RETAIL_THEFT = [
    """\
# Retail theft

Tags of items are read at shelves, registers and exits. Which items left the store and were not paid for? The pattern has a *negation*: no `Register`
event of the same item between the other two.""",
    LOAD,
    """\
from cepheid.samples import scenario

events = scenario("retail_theft").events()
events.to_pandas().head()""",
    """\
%%sase thefts --on events
PATTERN SEQ(Shelf a, ~(Register b), Exit c)
WHERE [tag_id]
WITHIN 12 hours
RETURN a.tag_id AS item, a.product AS product, c.zone AS door, c.ts - a.ts AS after""",
    "`thefts` is now a variable of the notebook. `show` prints it as a table; `to_pandas()`, "
    "`to_polars()` and `to_arrow()` convert it.",
    "thefts.show(5)",
    "thefts.to_pandas().groupby('door')['item'].count()",
    "## Why so few?\n\n`diagnose` shows how far the pattern gets and what stops it.",
    """\
pattern = "PATTERN SEQ(Shelf a, ~(Register b), Exit c) WHERE [tag_id] WITHIN 20 minutes"
print(cep.query(pattern).diagnose(events))""",
    SPARK,
    SESSION.format(events="events"),
    """\
%%sase found --on frame
PATTERN SEQ(Shelf a, ~(Register b), Exit c)
WHERE [tag_id]
WITHIN 12 hours
RETURN a.product AS product, c.zone AS door""",
]

CARD_FRAUD = [
    """\
# Card fraud

Somebody tests a stolen card with small payments and then takes a large amount. The pattern has a *list*: three or more small payments of the same
card, and then a large one.""",
    LOAD,
    """\
import numpy as np
import pandas as pd

rng = np.random.default_rng(4)
n = 400
payments = pd.DataFrame({
    "ts": pd.Timestamp("2024-06-01") + pd.to_timedelta(np.sort(rng.integers(0, 86_400, n)), "s"),
    "type": "Payment",
    "card": rng.integers(1000, 1020, n),
    "shop": rng.choice(["books", "fuel", "food", "games", "shoes"], n),
    "amount": rng.gamma(2, 40, n).round(2),
})
# One card is stolen at 14:00.
stolen = pd.DataFrame({
    "ts": pd.Timestamp("2024-06-01 14:00") + pd.to_timedelta([0, 45, 80, 130], "s"),
    "type": "Payment",
    "card": 1007,
    "shop": ["games", "fuel", "books", "shoes"],
    "amount": [1.0, 1.5, 0.99, 899.0],
})
payments = pd.concat([payments, stolen]).sort_values("ts", ignore_index=True)
payments.tail(3)""",
    """\
%%sase fraud --on payments --set LARGE=500
PATTERN SEQ(Payment{3,} small[], Payment large)
WHERE skip_till_next_match(small[], large) {
  [card] AND small[i].amount < 5 AND large.amount > LARGE
}
WITHIN 10 minutes
RETURN large.card AS card, small.LEN AS tests, sum(small[].amount) AS tested, large.amount
OUTPUT LONGEST""",
    "fraud.show()",
    "A match also has its events:",
    "fraud[0].small",
    "## A rule\n\nIn production this would be a rule in a set, with a severity, and one alert per card and hour.",
    """\
rules = cep.rules({"stolen card": {
    "query": '''
        PATTERN SEQ(Payment{3,} small[], Payment large)
        WHERE skip_till_next_match(small[], large) {
          [card] AND small[i].amount < 5 AND large.amount > LARGE }
        WITHIN 10 minutes
        RETURN large.amount AS amount''',
    "severity": "high",
    "parameters": {"LARGE": 500},
    "at_most_once_per": "1 hour",
}})
rules.match(payments).show()""",
    SPARK,
    SESSION.format(events="payments"),
    """\
%%sase on_spark --on frame
PATTERN SEQ(Payment{3,} small[], Payment large)
WHERE skip_till_next_match(small[], large) {
  [card] AND small[i].amount < 5 AND large.amount > 500
}
WITHIN 10 minutes
RETURN large.card AS card, small.LEN AS tests
OUTPUT LONGEST""",
]

LOG_BURSTS = [
    """\
# Log bursts

Five errors of a service within a minute, without a restart in between. `WITHOUT` excludes events inside a list, and `OUTPUT LEFTMOST` reports each
burst once instead of every part of it.""",
    LOAD,
    """\
import pandas as pd

start = pd.Timestamp("2024-06-01 03:00")
log = [("api", "Error", 1 + 6 * ix) for ix in range(8)]  # a burst
log += [("web", "Error", 7 * ix) for ix in range(4)]  # too few,
log += [("web", "Restart", 30)]  # then a restart,
log += [("web", "Error", 33 + 7 * ix) for ix in range(3)]  # then too few again
log += [("db", "Error", 50 * ix) for ix in range(6)]  # too slow
events = pd.DataFrame(log, columns=["service", "type", "s"]).sort_values("s", kind="stable")
events["ts"] = start + pd.to_timedelta(events.pop("s"), "s")
events.groupby(["service", "type"]).size()""",
    """\
%%sase bursts --on events
PATTERN Error{5,} e[] WITHOUT (Restart r)
WHERE partition_contiguity { [service] }
WITHIN 1 minute
RETURN e[1].service AS service, e.LEN AS errors, e[1].ts AS since
OUTPUT LEFTMOST""",
    "bursts.show()",
    """\
## As a stream

A session reads the log as it is written. What it finds does not depend on how the events are divided into batches.""",
    """\
query = cep.query('''
    PATTERN Error{5,} e[] WITHOUT (Restart r)
    WHERE partition_contiguity { [service] }
    WITHIN 1 minute
    RETURN e[1].service AS service, e.LEN AS errors
    OUTPUT LEFTMOST''')
session = query.session()
for batch in range(0, len(events), 6):
    for match in session.feed(events.iloc[batch : batch + 6]):
        print("after batch", batch // 6, match.values)
print("at the end", [match.values for match in session.advance()])""",
    SPARK,
    SESSION.format(events="events"),
    """\
%%sase on_spark --on frame
PATTERN Error{5,} e[] WITHOUT (Restart r)
WHERE partition_contiguity { [service] }
WITHIN 1 minute
RETURN e[1].service AS service, e.LEN AS errors
OUTPUT LEFTMOST""",
]

FUNNEL = [
    """\
# A funnel

How many visitors view a product, put it into the cart and buy it, and who gives up? A *trailing negation* with a window of its own finds carts without
an order: events that did **not** happen.""",
    LOAD,
    """\
import numpy as np
import pandas as pd

rng = np.random.default_rng(11)
rows = []
for visitor in range(200):
    at = rng.integers(0, 6 * 3600)
    for step, chance in (("View", 1), ("Cart", 0.4), ("Order", 0.5)):
        if rng.random() > chance:
            break
        rows.append((visitor, step, at))
        at += rng.integers(10, 1500)
clicks = pd.DataFrame(rows, columns=["visitor", "type", "ts"]).sort_values("ts", ignore_index=True)
clicks["type"].value_counts()""",
    """\
%%sase orders --on clicks --time-unit s
PATTERN SEQ(View v, Cart c, Order o)
WHERE [visitor]
WITHIN 1 hour
RETURN v.visitor AS visitor, o.ts - v.ts AS seconds""",
    """\
%%sase abandoned --on clicks --time-unit s
PATTERN SEQ(Cart c, ~(Order o) WITHIN 30 minutes)
WHERE [visitor]
RETURN c.visitor AS visitor, c.ts AS cart_at""",
    """\
print(len(orders), "orders,", len(abandoned), "carts without an order within 30 minutes")
abandoned.show(5)""",
    "The funnel of the pattern itself, with the reasons:",
    """\
funnel = "PATTERN SEQ(View v, Cart c, Order o) WHERE [visitor] WITHIN 10 minutes"
print(cep.query(funnel).diagnose(clicks, time_unit="s"))""",
    SPARK,
    SESSION.format(events="clicks"),
    """\
%%sase on_spark --on frame --time-unit s
PATTERN SEQ(Cart c, ~(Order o) WITHIN 30 minutes)
WHERE [visitor]
RETURN c.visitor AS visitor, c.ts AS cart_at""",
]

STOCK_SHAPES = [
    """\
# Stock shapes

A volume that starts high, a price that keeps rising above its running average, and then a collapse of the volume: Query 3 of Agrawal et al. (2008). And
the same data in SQL, with `MATCH_RECOGNIZE`: V shapes.""",
    LOAD,
    """\
from cepheid.samples import scenario

trend = scenario("stock_trend")
ticks = trend.events()
print(trend.query)
ticks.to_pandas().head(3)""",
    """\
%%sase trends --on ticks
PATTERN SEQ(Stock+ a[], Stock b)
WHERE skip_till_next_match(a[], b) {
  [symbol]
  AND a[1].volume > 1000
  AND a[i].price > avg(a[..i-1].price)
  AND b.volume < 80% * a[a.LEN].volume
}
WITHIN 1 hour
RETURN b.symbol AS symbol, a.LEN AS length, a[1].price AS first, a[a.LEN].price AS last
OUTPUT LEFTMOST""",
    "trends.show(5)",
    "## V shapes in SQL",
    """\
%%match_recognize shapes --on ticks
MATCH_RECOGNIZE (
  PARTITION BY symbol
  ORDER BY ts
  MEASURES
    S.ts AS since,
    count(DOWN.*) AS falls,
    count(UP.*) AS rises,
    round(LAST(UP.price) - LAST(DOWN.price), 2) AS recovery
  PATTERN (S DOWN{3,} UP{3,})
  DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)
)""",
    "shapes.show(5)",
    SPARK,
    SESSION.format(events="ticks"),
    """\
%%sase on_spark --on frame
PATTERN SEQ(Stock a, Stock b)
WHERE partition_contiguity { [symbol] AND b.price > 100.5% * a.price }
WITHIN 1 hour
RETURN a.symbol AS symbol, a.price AS first, b.price AS second""",
]

UNCERTAIN_SENSORS = [
    """\
# Uncertain sensor times

A cluster logs the start and the end of tasks, and the load of each node every 15 seconds. The clocks differ, and a load is the peak of its interval:
the time of an event is an interval, and a match has a **confidence**.""",
    LOAD,
    """\
from cepheid.samples import cluster_load

events = cluster_load.generate(600, seed=2)
uncertainty = cluster_load.UNCERTAINTY
events.to_pandas().head(4)""",
    """\
%%sase peaks --on events --option uncertainty --option granularity='"100 ms"'
PATTERN SEQ(TaskStart a, CPU b, TaskFinish c, CPU d)
WHERE a.task_id = c.task_id AND b.node_id = a.node_id AND d.node_id = a.node_id
  AND b.value > 95% AND d.value <= 70%
WITHIN 15 seconds
WITH CONFIDENCE > 12%
RETURN a.task_id AS task, b.value AS peak, d.value AS after""",
    """\
best = sorted(peaks, key=lambda match: -match.confidence)[:5]
for match in best:
    print(f"{match.task}  peak {match.peak:.0%}, then {match.after:.0%}  confidence {match.confidence:.2f}")""",
    "Without the uncertainty, only the times in the log count, and none of these matches is found:",
    """\
%%sase certain --on events
PATTERN SEQ(TaskStart a, CPU b, TaskFinish c, CPU d)
WHERE a.task_id = c.task_id AND b.node_id = a.node_id AND d.node_id = a.node_id
  AND b.value > 95% AND d.value <= 70%
WITHIN 15 seconds
RETURN a.task_id AS task, b.value AS peak, d.value AS after""",
    SPARK,
    SESSION.format(events="events"),
    """\
%%sase on_spark --on frame --option uncertainty --option granularity='"100 ms"'
PATTERN SEQ(TaskStart a, CPU b, TaskFinish c)
WHERE a.task_id = c.task_id AND b.node_id = a.node_id AND b.value > 99%
WITHIN 15 seconds
WITH CONFIDENCE > 50%
RETURN a.task_id AS task, b.value AS peak""",
]

PORTS = [
    """\
# MATCH_RECOGNIZE ports

Clauses from other systems run as they are. Each is followed by the same question in SASE+, where that is shorter.""",
    LOAD,
    """\
import pandas as pd

rows = [("ana", at) for at in (0, 5, 9, 100, 104)] + [("bo", at) for at in (1, 60, 63, 66, 70)]
clicks = pd.DataFrame(rows, columns=["user_id", "at"]).sort_values("at", ignore_index=True)
clicks["type"] = "Click"
clicks.T""",
    "## Sessions, as in Oracle's documentation\n\nClicks less than 10 seconds apart are one session.",
    """\
%%match_recognize sessions --on clicks
MATCH_RECOGNIZE (
  PARTITION BY user_id
  ORDER BY at
  MEASURES
    MATCH_NUMBER() AS session_id,
    count(*) AS clicks,
    FIRST(at) AS since,
    LAST(at) - FIRST(at) AS duration
  PATTERN (B S*)
  DEFINE S AS at - PREV(at) < 10
)""",
    "sessions.show()",
    """\
%%sase sessions --on clicks --time at
PATTERN Click+ s[]
WHERE partition_contiguity { [user_id] AND s[i].at - s[i-1].at < 10 }
RETURN s[1].user_id AS user_id, s.LEN AS clicks, s[1].at AS since
OUTPUT LEFTMOST""",
    "## Consecutive failures, as in Snowflake and Trino",
    """\
jobs = pd.DataFrame({
    "job": ["load"] * 7, "run": range(7), "ok": [True, False, False, False, True, False, True],
})""",
    """\
%%match_recognize failures --on jobs
SELECT * FROM jobs MATCH_RECOGNIZE (
  PARTITION BY job
  ORDER BY run
  MEASURES FIRST(F.run) AS first_failure, count(F.*) AS failures, OK_AGAIN.run AS repaired
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (F{2,} OK_AGAIN)
  DEFINE F AS NOT ok, OK_AGAIN AS ok
)""",
    "## Whole statements\n\n`cep.sql` runs a whole statement over tables in memory, with DuckDB for the SQL around the clauses.",
    """\
found = cep.sql('''
    SELECT user_id, max(n) AS longest
    FROM clicks MATCH_RECOGNIZE (
      PARTITION BY user_id ORDER BY at
      MEASURES count(*) AS n
      PATTERN (B S*)
      DEFINE S AS at - PREV(at) < 10
    )
    GROUP BY user_id ORDER BY user_id
''', clicks=clicks)
found.to_pandas()""",
    SPARK,
    SESSION.format(events="clicks"),
    """\
import cepheid.spark

frame.createOrReplaceTempView("clicks")
cepheid.spark.sql(spark, '''
    SELECT user_id, n FROM clicks MATCH_RECOGNIZE (
      PARTITION BY user_id ORDER BY at
      MEASURES count(*) AS n
      PATTERN (B S*)
      DEFINE S AS at - PREV(at) < 10
    ) ORDER BY user_id, n
''').show()""",
]

NOTEBOOKS = {
    "retail-theft": RETAIL_THEFT,
    "card-fraud": CARD_FRAUD,
    "log-bursts": LOG_BURSTS,
    "funnel": FUNNEL,
    "stock-shapes": STOCK_SHAPES,
    "uncertain-sensors": UNCERTAIN_SENSORS,
    "match-recognize": PORTS,
}
