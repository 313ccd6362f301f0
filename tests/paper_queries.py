"""Every query that the papers print, typed as they print it.

Placeholders of a template (an event selection strategy, an iterator predicate, a window) are
filled in with each of the values that the paper lists for them. What a template leaves out by
dots is written out.
"""

from __future__ import annotations

from itertools import product

_AGRAWAL08 = {
    "query 1": """
        PATTERN SEQ(Shelf a, ∼(Register b), Exit c)
        WHERE    skip_till_next_match(a, b, c) {
                          a.tag_id = b.tag_id
               and     a.tag_id = c.tag_id
                          /* equivalently, [tag_id] */     }
        WITHIN    12 hours""",
    "query 2": """
        PATTERN SEQ(Alert a, Shipment+ b[ ])
        WHERE    skip_till_any_match(a, b[ ]) {
                            a.type = 'contaminated'
               and       b[1].from = a.site
               and       b[i].from = b[i-1].to }
        WITHIN    3 hours""",
    "query 3": """
        PATTERN SEQ(Stock+ a[ ], Stock b)
        WHERE    skip_till_next_match(a[ ], b) {
                            [symbol]
               and       a[1].volume > 1000
               and       a[i].price > avg(a[..i-1].price)
               and       b.volume < 80%*a[a.LEN].volume }
        WITHIN    1 hour""",
    "query 3.2": """
        PATTERN SEQ(Stock+ a[ ], Stock b)
        WHERE    skip_till_next_match(a[ ], b) {
                            [symbol]
               and       a[1].volume > 1000
               and       a[i].price ≥ max(a[..i-1].price)
               and       b.volume < 80%*a[a.LEN].volume }
        WITHIN    1 hour""",
    "slides, Q1": """
        FROM InputStream

        PATTERN

        SEQ(Stock+ a[], Stock b)

        WHERE

        [symbol] AND

        a[1].volume > 1000 AND
        a[i].price > min(a[..i-1].price) AND
        b.volume < 80% * a[a.LEN].volume

        WITHIN

        1 hour""",
    "slides, Q1 by partition": """
        FROM InputStream
        PATTERN      SEQ(Stock+ a[], Stock b)
        WHERE        partition_contiguity(a[],b)
                    { [symbol] AND
                      a[1].volume > 1000          AND
                      a[i].price > a[i-1].price    AND
                      b.volume < 80% * a[LEN].volume
                    }
        WITHIN      1 hour""",
    "slides, Q1 by next match": """
        FROM InputStream

        PATTERN SEQ(Stock+ a[], Stock b)
        WHERE  skip_till_next_match(a[],b)
              { [symbol] AND
                a[1].volume > 1000          AND
                a[i].price > a[i-1].price  AND
                b.volume < 80%*a[a.LEN].volume }

        WITHIN 1 hour""",
    "slides, Q2": """
        FROM InputStream
        PATTERN    SEQ(Alert a, Shipment+ b[])
        WHERE      skip_till_any_match(a, b[])
                   { a.type = 'contaminated' AND
                     b[1].from = a.site AND
                     b[i].from = b[i-1].to   }
        WITHIN    12 hours
        RETURN     a.type, a.site, b[].to""",
    "slides, merging runs": """
        PATTERN
        SEQ(Stock+ a[], Stock b)
        WHERE
        skip_till_next_match(a[],b) {
            [symbol] AND
            a[1].volume > 1000          AND
            a[i].price > min(a[..i-1].price) AND
            b.volume < 80% * a[a.LEN].volume }""",
}

_STRATEGIES = ("partition-contiguity", "skip-till-next-match")
_ITERATOR_PREDICATES = (
    "True",
    "a[i].price > a[i− 1].price",
    *(f"a[i].price > {aggregate}(a[..i-1].price)" for aggregate in ("max", "min", "avg")),
)

for _strategy, _predicate, _window in product(
    _STRATEGIES, _ITERATOR_PREDICATES, ("W", "500", "2000 events")
):
    _AGRAWAL08[f"template, {_strategy}, {_predicate}, {_window}"] = f"""
        pattern(stock+
        a[ ], stock b) where {_strategy} {{[symbol] ∧ a[1].price %500==0
        ∧ {_predicate} ∧ b.volume <150}} within {_window}"""
    _AGRAWAL08[f"slides, template, {_strategy}, {_predicate}, {_window}"] = f"""
        PATTERN SEQ(Stock+ a[], Stock b)
        WHERE {_strategy.replace("-", " ")}(a[], b) {{
        [symbol] AND
        a[1].price % 500 = 0 AND
        {_predicate} AND
        b.volume < 150 }}
        WITHIN {_window}"""

for _strategy in _STRATEGIES:
    _AGRAWAL08[f"template with c, {_strategy}"] = f"""
        pattern(stock+ a[ ], stock b,
        stock c) where {_strategy} {{[symbol] ∧ a[1].price %500==0
        ∧ a[i].price > min(a[..i-1].price) ∧ b.volume <150
        ∧ c.price > a[1].price∧c.price < a[a.len].price}} within 500"""

_WU06 = {
    "Q1": """
        EVENT SHELF-READING
        WHERE category = ‘food’ ∧ manufacturer_id = ‘1’""",
    "Q2": """
        EVENT SEQ(SHELF-READING x, ! (COUNTER-READING y),
        EXIT-READING z)
        WHERE x.id = y.id ∧ x.id = z.id
        /* or equivalently, [id] */
        WITHIN 12 hours""",
    "misplaced inventory": """
        EVENT SEQ(SHELF-READING x, SHELF-READING y,
        ! (ANY(COUNTER- READING, SHELF-READING) z) )
        WHERE [id] ∧ x.shelf_id ≠ y.shelf_id ∧ x.shelf_id = z.shelf_id
        WITHIN 1 hour""",
    "overdose": """
        EVENT
        SEQ(MEDICINE-TAKEN x, MEDICINE-TAKEN y)
        WHERE
        [name=‘John’] ∧ [medicine=‘Antibiotics’] ∧
        (x.amount + y.amount) > 1000
        WITHIN 4 hours""",
    "Q3": """
        EVENT SEQ(A x1, B x2, ! (C x3), D x4)
        WHERE [attr1, attr2] ∧ x1.attr3 = ‘1’ ∧ x1.attr4 < x4.attr4
        WITHIN T""",
    "one value": "EVENT SEQ(A x, B y) WHERE [id=‘1’]",
    "any inside": "EVENT SEQ(A1, ANY(A21, A22, A23), A3)",
    "negation without brackets": "EVENT SEQ(A, B, !C, D)",
    "negated start": "EVENT SEQ(!A, B) WITHIN T",
    "negated end": "EVENT SEQ(A, !B) WITHIN T",
    "template": "EVENT SEQ(E1, E2, E3) WHERE [attr1]\n        WITHIN 10000.",
    "template, two attributes": "EVENT SEQ(E1, E2, E3, E4) WHERE [attr1, attr2] WITHIN W",
}

_KOLCHINSKY17 = {
    "(1)": """
        PATTERN SEQ (A a, B b, C c)
        WHERE skip_till_any_match {
        a.price > T
        AND b.price > T
        AND c.price > T }
        WITHIN 1 hour.""",
    "(2)": """
        PATTERN AND (A a, B b, C c)
        WITHIN 1 hour.""",
    "(3)": """
        PATTERN AND (SEQ (A a, B b) , SEQ (C c, D d) , E e)
        WITHIN 1 hour.""",
    "(4)": """
        PATTERN SEQ (A a, NOT (B b), C c, D d)
        WHERE skip_till_any_match {b.x < c.y}
        WITHIN 1 hour.""",
    "(5)": """
        PATTERN SEQ (A a, B + b[], C c)
        WITHIN 1 hour.""",
    "(6)": """
        PATTERN SEQ (A a, B + b[], C c)
        WHERE skip_till_any_match {AVG (b[i].x) < c.y}
        WITHIN 1 hour.""",
    "(7)": """
        PATTERN SEQ (A a, B + b[], C c)
        WHERE skip_till_any_match {b [i] .x = b [i - 1] .x}
        WITHIN 1 hour.""",
    "(8)": """
        PATTERN OR (SEQ (A a, B b, C c), SEQ (C c, D d, E e))
        WITHIN 1 hour.""",
    "(9)": """
        PATTERN SEQ (A a, OR (B b, C c), D d)
        WHERE skip_till_any_match {a.price > d.price}
        WITHIN 1 hour.""",
    "(9) as alternatives": """
        PATTERN OR(SEQ(A a, B b, D d), SEQ(A a, C c, D d))
        WHERE skip_till_any_match {a.price > d.price}
        WITHIN 1 hour.""",
    "(10)": """
        PATTERN SEQ (E a, E b, E c)
        WHERE skip_till_any_match {
        a.ticker = MSFT
        AND b.ticker = GOOG
        AND c.ticker = AAPL
        AND a.price < b.price
        AND b.price < c.price }
        WITHIN 1 hour.""",
    "(11)": """
        PATTERN SEQ
        (NACompany a, EUCompany b, AfrCompany c)
        WHERE skip_till_any_match {
        Corr (a.history, b.history) > T
        AND Corr (b.history, c.history) > T
        AND Corr (c.history, a.history) > T}
        WITHIN h.""",
}

_ZHANG10 = {
    "query 1": """
        PATTERN SEQ(TaskStart a,CPU b,TaskFinish c,CPU d)
        WHERE a.taskId = c.taskId AND

        b.nodeId = a.nodeId AND
        d.nodeId = a.nodeId AND
        b.value > 95% AND
        d.value <= 70% AND
        skip till any match(a, b, c, d)

        WITHIN 15 seconds
        RETURN a, b, c""",
    "figure 1": "PATTERN SEQ(A,B,C)  WITHIN 4 seconds",
}

# The paper abbreviates PATTERN away, puts commas for AND and an event for its only attribute.
for _strategy in ("skip till any match", "skip till next match"):
    _ZHANG10[f"template, {_strategy}"] = f"""
        PATTERN SEQ(E1, E2, E3) WHERE E1.value%3 = 0 AND E2.value%5 = 0 AND E3.value%7 = 0
        AND {_strategy} WITHIN 100"""

PAPER_QUERIES: dict[str, str] = {
    f"{paper} {name}": text
    for paper, queries in (
        ("Agrawal08", _AGRAWAL08),
        ("Wu06", _WU06),
        ("Kolchinsky17", _KOLCHINSKY17),
        ("Zhang10", _ZHANG10),
    )
    for name, text in queries.items()
}
"""Each query by the key of its paper and what the paper calls it."""
