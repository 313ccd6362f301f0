"""Queries built in Python are equal to those that their text gives."""

import copy
import pickle
from datetime import timedelta
from fractions import Fraction

import pytest
from paper_queries import PAPER_QUERIES

from cepheid.errors import OptionError
from cepheid.language import syntax as ast
from cepheid.language.builder import (
    all_of,
    any_of,
    avg,
    call,
    count,
    event,
    first,
    i,
    last,
    many,
    max_,
    min_,
    no,
    parameter,
    same,
    seq,
    sum_,
)
from cepheid.language.parser import parse

A, B, C = event("A", "a"), many("B", "b"), event("C", "c")
PATTERN = seq(A, B, C)
TEXT = "PATTERN SEQ(A a, B+ b[], C c)"


def check(pattern, text):
    """What was built is what the text is, and prints as a text that is the same again."""
    assert pattern.build() == parse(text)
    assert parse(str(pattern)) == parse(text)


# --- The papers' queries ------------------------------------------------------------------


def test_agrawal08_query_1():
    a, b, c = event("Shelf", "a"), event("Register", "b"), event("Exit", "c")
    check(
        seq(a, no(b), c)
        .where(a.tag_id == b.tag_id, a.tag_id == c.tag_id)
        .select("skip_till_next_match", a, b, c)
        .within(12, "hours"),
        PAPER_QUERIES["Agrawal08 query 1"],
    )


def test_agrawal08_query_2_with_an_attribute_that_is_a_python_keyword():
    a, b = event("Alert", "a"), many("Shipment", "b")
    check(
        seq(a, b)
        .where(a.type == "contaminated", b[1]["from"] == a.site, b[i]["from"] == b[i - 1].to)
        .select(ast.SelectionStrategy.SKIP_TILL_ANY_MATCH, a, b)
        .within("3 hours"),
        PAPER_QUERIES["Agrawal08 query 2"],
    )
    check(
        seq(a, b)
        .where(a.type == "contaminated", b[1]["from"] == a.site, b[i]["from"] == b[i - 1].to)
        .select("skip_till_any_match", a, b)
        .within(timedelta(hours=12))
        .returns(a.type, a.site, b.all.to)
        .from_stream("InputStream"),
        PAPER_QUERIES["Agrawal08 slides, Q2"],
    )


def test_agrawal08_query_3():
    a, b = many("Stock", "a"), event("Stock", "b")
    check(
        seq(a, b)
        .where(same("symbol"), a[1].volume > 1000)
        .where(a[i].price > avg(a.before.price))
        .where(b.volume < 0.8 * a.last.volume)
        .select("skip_till_next_match", a, b)
        .within("1 hour"),
        PAPER_QUERIES["Agrawal08 query 3"],
    )


def test_wu06():
    reading = event("SHELF-READING")
    check(
        reading.where((reading.category == "food") & (reading.manufacturer_id == "1")),
        PAPER_QUERIES["Wu06 Q1"],
    )
    x, y = event("SHELF-READING", "x"), event("SHELF-READING", "y")
    z = event("COUNTER-READING", "SHELF-READING", variable="z")
    check(
        seq(x, y, no(z))
        .where(same("id"), x.shelf_id != y.shelf_id, x.shelf_id == z.shelf_id)
        .within("1 hour"),
        PAPER_QUERIES["Wu06 misplaced inventory"],
    )
    x, y = event("MEDICINE-TAKEN", "x"), event("MEDICINE-TAKEN", "y")
    check(
        seq(x, y)
        .where(same(name="John", medicine="Antibiotics"), x.amount + y.amount > 1000)
        .within("4 hours"),
        PAPER_QUERIES["Wu06 overdose"],
    )


def test_kolchinsky17():
    a, b, c, d, e = (event(name, name.lower()) for name in "ABCDE")
    check(all_of(seq(a, b), seq(c, d), e).within("1 hour"), PAPER_QUERIES["Kolchinsky17 (3)"])
    check(any_of(seq(a, b, c), seq(c, d, e)).within("1 hour"), PAPER_QUERIES["Kolchinsky17 (8)"])
    price = parameter("T")
    check(
        seq(a, b, c).where(a.price > price, b.price > price, c.price > price).within("1 hour"),
        PAPER_QUERIES["Kolchinsky17 (1)"],
    )
    b = many("B", "b")
    check(
        seq(a, b, c).where(avg(b[i].x) < c.y).within("1 hour"),
        PAPER_QUERIES["Kolchinsky17 (6)"],
    )
    check(
        seq(a, b, c).where(b[i].x == b[i - 1].x).within("1 hour"),
        PAPER_QUERIES["Kolchinsky17 (7)"],
    )


def test_zhang10():
    a, b = event("TaskStart", "a"), event("CPU", "b")
    c, d = event("TaskFinish", "c"), event("CPU", "d")
    check(
        seq(a, b, c, d)
        .where(a.taskId == c.taskId, b.nodeId == a.nodeId, d.nodeId == a.nodeId)
        .where(b.value > 0.95, d.value <= 0.7)
        .select("skip_till_any_match", a, b, c, d)
        .within(timedelta(seconds=15))
        .returns(a, b, c),
        PAPER_QUERIES["Zhang10 query 1"],
    )


# --- Patterns -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (event("A"), "A"),
        (event("A", "a"), "A a"),
        (event("A", variable="a"), "A a"),
        (event("A", "B", variable="a"), "ANY(A, B) a"),
        (many("A", "a"), "A+ a[]"),
        (many("A"), "A+"),
        (many("A", "a", at_least=0), "A* a[]"),
        (many("A", "a", at_least=2), "A{2,} a[]"),
        (many("A", "a", at_least=2, at_most=5), "A{2,5} a[]"),
        (many("A", "a", at_least=3, at_most=3), "A{3} a[]"),
        (many("A", "B", variable="a", at_most=4), "ANY(A, B){1,4} a[]"),
        (seq(event("A"), event("A")), "SEQ(A, A)"),
        (seq(no(event("A", "a")), B), "SEQ(~(A a), B+ b[])"),
        (no(event("A", "a")), "~(A a)"),
        (any_of(all_of(A, B), seq(C)), "OR(AND(A a, B+ b[]), SEQ(C c))"),
        (event("order line", "the order"), "`order line` `the order`"),
    ],
)
def test_patterns(built, text):
    check(built, f"PATTERN {text}")


# --- Expressions --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (A.x == C.x, "a.x = c.x"),
        (A.x != 5, "a.x != 5"),
        (A.x < 5.5, "a.x < 5.5"),
        (A.x <= -5, "a.x <= -5"),
        (A.x > "it's", "a.x > 'it''s'"),
        (A.x >= True, "a.x >= TRUE"),
        (A.x == None, "a.x = NULL"),  # noqa: E711 - what is tested
        (A.x < Fraction(1, 4), "a.x < 0.25"),
        (5 < A.x, "a.x > 5"),  # noqa: SIM300 - what is tested
        (A["unit price"] > 1, "a.`unit price` > 1"),
        (A["where"] > 1, "a.where > 1"),
        (A["_id"] > 1, "a._id > 1"),
        (A.x + C.x - 1 > 2, "a.x + c.x - 1 > 2"),
        (A.x - (C.x - 1) > 2, "a.x - (c.x - 1) > 2"),
        (2 * A.x / 3 > 1, "2 * a.x / 3 > 1"),
        (1 - A.x == 1 / C.x, "1 - a.x = 1 / c.x"),
        (A.x % 500 == 0, "a.x % 500 = 0"),
        (80 % A.x == 1 + A.x, "80 % a.x = 1 + a.x"),
        (80 % -A.x == 0, "80 % (-a.x) = 0"),
        (-A.x > -(A.x + 1), "-a.x > -(a.x + 1)"),
        ((A.x > 1) & (A.y > 2) & (A.z > 3), "a.x > 1 AND a.y > 2 AND a.z > 3"),
        ((A.x > 1) | (A.y > 2) | (A.z > 3), "a.x > 1 OR a.y > 2 OR a.z > 3"),
        ((A.x > 1) & ((A.y > 2) | (A.z > 3)), "a.x > 1 AND (a.y > 2 OR a.z > 3)"),
        (~((A.x > 1) & A.on), "NOT (a.x > 1 AND a.on)"),
        (A.x.is_in(1, "two", None), "a.x IN (1, 'two', NULL)"),
        (~A.x.is_in(C.x), "a.x NOT IN (c.x)"),
        (A.x.between(1, C.x + 1), "a.x BETWEEN 1 AND c.x + 1"),
        (A.x.like("a%"), "a.x LIKE 'a%'"),
        (A.x.is_null(), "a.x IS NULL"),
        (~A.x.is_null(), "a.x IS NOT NULL"),
        (same("id"), "[id]"),
        (same("id", "site"), "[id, site]"),
        (same(id="7", site=3), "[id = '7', site = 3]"),
        (same("id") & (A.x > 1), "[id] AND a.x > 1"),
        (B[1].x > B[2].x, "b[1].x > b[2].x"),
        (B[i].x > B[i - 1].x, "b[i].x > b[i-1].x"),
        (B.last.x > B.length, "b[LEN].x > b.LEN"),
        (B[1]["last"] > 1, "b[1].last > 1"),
        (min_(B.all.x) > max_(B.before.x), "min(b[].x) > max(b[..i-1].x)"),
        (sum_(B.all.x) > avg(B.before["x"]), "sum(b[].x) > avg(b[..i-1].x)"),
        (first(B.all.x) > last(B.all.x), "first(b[].x) > last(b[].x)"),
        (count(B.all) > count(B.before), "count(b[]) > count(b[..i-1])"),
        (count(B.all.x) > 1, "count(b[].x) > 1"),
        (call("ABS", A.x - 1) > 1, "abs(a.x - 1) > 1"),
        (call("Corr", A.x, C.x) > parameter("T"), "Corr(a.x, c.x) > T"),
        (call("avg", B.all.x) > 1, "avg(b[].x) > 1"),
        (C.ts < A.ts + timedelta(hours=1), "c.ts < a.ts + 1 hour"),
        (C.ts < A.ts + timedelta(minutes=90), "c.ts < a.ts + 90 minutes"),
        (C.ts < A.ts + timedelta(days=14), "c.ts < a.ts + 2 weeks"),
        (C.ts > A.ts + timedelta(microseconds=-1), "c.ts > a.ts + -1 microseconds"),
    ],
)
def test_conditions(built, text):
    check(PATTERN.where(built), f"{TEXT} WHERE {text}")


def test_conditions_are_joined_whether_given_at_once_or_one_after_the_other():
    text = f"{TEXT} WHERE a.x > 1 AND a.y > 2 AND a.z > 3"
    check(PATTERN.where(A.x > 1, A.y > 2, A.z > 3), text)
    check(PATTERN.where(A.x > 1).where((A.y > 2) & (A.z > 3)), text)
    check(PATTERN.where(), TEXT)


# --- The other clauses --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("12 hours",), "12 hours"),
        ((12, "hours"), "12 hours"),
        ((1.5, "h"), "1.5 hours"),
        ((10,), "10"),
        (("10",), "10"),
        ((500, "events"), "500 EVENTS"),
        (("500 events",), "500 EVENTS"),
        ((500, "events per partition"), "500 EVENTS PER PARTITION"),
        ((timedelta(days=1),), "1 day"),
        ((timedelta(milliseconds=1500),), "1500 milliseconds"),
        (("T",), "T"),
        ((parameter("T"), "hours"), "T hours"),
    ],
)
def test_windows(arguments, text):
    check(PATTERN.within(*arguments), f"{TEXT} WITHIN {text}")


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (PATTERN.returns(A, B, B.all, B.all.x, A.x), "a, b[], b[], b[].x, a.x"),
        (
            PATTERN.returns(A.x, rise=C.x - A.x, n=count(B.all)),
            "a.x, c.x - a.x AS rise, n = count(b[])",
        ),
        (PATTERN.returns(**{"odd name": A.x}), "a.x AS `odd name`"),
        (PATTERN.returns(self=A.x, items=C.x), "a.x AS self, c.x AS items"),
        (PATTERN.returns(1, "text"), "1, 'text'"),
        (PATTERN.returns(call("f", A.x)), "(f(a.x))"),
        (PATTERN.returns_event("Alert", tag=A.x, b=B.length), "Alert(tag = a.x, b = b.LEN)"),
        (PATTERN.returns_event("SHELF-ALERT", A.x), "SHELF-ALERT(a.x)"),
    ],
)
def test_returns(built, text):
    check(built, f"{TEXT} RETURN {text}")


def test_stream_and_strategy():
    check(PATTERN.from_stream("s"), f"FROM s {TEXT}")
    check(PATTERN.select("strict_contiguity"), f"{TEXT} WHERE strict_contiguity")


def test_every_call_gives_a_new_object():
    before = str(PATTERN)
    PATTERN.where(A.x > 1).within(5).select("strict_contiguity").returns(A).from_stream("s")
    assert str(PATTERN) == before
    with pytest.raises(AttributeError):
        A.x = 5


def test_variables_are_copied_and_pickled():
    for variable in (A, B, PATTERN):
        assert copy.deepcopy(variable).build() == variable.build()
        assert pickle.loads(pickle.dumps(variable)).build() == variable.build()


def test_what_is_shown():
    assert repr(A) == "<A a>"
    assert repr(PATTERN) == "<SEQ(A a, B+ b[], C c)>"
    assert repr(B[i - 1]) == "b[i-1]"
    assert repr(B.before.x) == "b[..i-1].x"
    assert repr(A.x + 1 > avg(B.all.x)) == "a.x + 1 > avg(b[].x)"


# --- Wrong use ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: A.x > 1 and A.y > 2, "use & for and"),
        (lambda: not A.x, "~ for not"),
        (lambda: 1 < A.x < 5, r"write \(x < y\) & \(y < z\)"),
        (lambda: A.x in (1, 2), "has no truth value"),
        (lambda: PATTERN.where(A == 5), "False is not a condition"),
        (lambda: PATTERN.where("a.x > 5"), "'a.x > 5' is not a condition"),
        (lambda: A.x > C, "<C c> cannot be used in a query: use attributes such as a.x"),
        (lambda: A.x > B.last, r"b\[LEN\] cannot be used in a query"),
        (lambda: A.x > object(), "cannot be used in a query"),
        (lambda: A.x > 2**63, "cannot be used in a query"),
        (lambda: A.x > float("nan"), "nan cannot be used in a query"),
        (lambda: B.price, r"b is a Kleene variable.*write b\[i\]\.price"),
        (lambda: B["price"], "'price' is not an index of b: use i, i - 1 or a number from 1"),
        (lambda: B[0], "0 is not an index of b"),
        (lambda: B[-1], r"b\.last is the last event"),
        (lambda: B[i - 2], "there is no i - 2"),
        (lambda: PATTERN.where(B.all.x > 1), r"b\[\]\.x is a list.*avg\(b\[\]\.x\)"),
        (lambda: PATTERN.where(B.before.x > 1), r"b\[\.\.i-1\]\.x is a list"),
        (lambda: PATTERN.returns(B.before.x), r"b\[\.\.i-1\]\.x is a list"),
        (lambda: avg(A.x), r"avg\(a\.all\.x\) for all of them"),
        (lambda: avg(B), r"avg\(a\.all\.x\) for all of them"),
        (lambda: count(B), r"count\(a\.all\) for all of them"),
        (lambda: avg(B.all.x, 1), "avg needs events of a Kleene variable"),
        (lambda: PATTERN.select("skip_til_next_match"), "Did you mean 'skip_till_next_match'"),
        (lambda: PATTERN.select("greedy"), "there are strict_contiguity, partition_contiguity"),
        (lambda: PATTERN.select("strict_contiguity", PATTERN), "is not a variable"),
        (lambda: PATTERN.within("12 huors"), "'12 huors' is not a window.*Did you mean 'hours'"),
        (lambda: PATTERN.within(-5), "'-5' is not a window"),
        (lambda: PATTERN.within(timedelta(seconds=-5)), "'-5 seconds' is not a window"),
        (lambda: PATTERN.within("soon enough"), "is not a window"),
        (lambda: PATTERN.within("5 RETURN a"), "is not a window"),
        (lambda: PATTERN.within(2.5, "events"), "a window of EVENTS needs an integer"),
        (lambda: seq(), r"seq\(\) takes at least one pattern"),
        (lambda: seq("A", "B"), r"such as event\('A', 'a'\)"),
        (lambda: seq(A.where(A.x > 1), C), r"write seq\(…\)\.where\(…\)"),
        (lambda: no(B), "only a single event can be negated"),
        (lambda: no(seq(A, C)), "only a single event can be negated"),
        (lambda: event(), "an event needs one type"),
        (lambda: event("A", "B", "C"), "add variable='a'"),
        (lambda: event("A", "A", variable="a"), "several different ones"),
        (lambda: event("A`B", "a"), "a string without backticks"),
        (lambda: event("A", 5), "5 is not a name"),
        (lambda: many("A", "a", at_least=3, at_most=2), "at least 3 and at most 2"),
        (lambda: many("A", "a", at_least=0, at_most=0), "at least 0 and at most 0"),
        (lambda: same(), r"same\(\) takes the names"),
        (lambda: same(id=A.x), r"same\(\) compares id with a number or a string"),
        (lambda: A.x.is_in(), r"is_in\(\) needs at least one value"),
        (lambda: A.x.like(C.x), r"like\(\) takes a string"),
        (lambda: seq(event("A"), event("A")).where(event("A").x > 1).build(),
         "several components have the name A"),
    ],
)  # fmt: skip
def test_wrong_use_says_what_to_do(wrong, message):
    with pytest.raises(OptionError, match=message):
        wrong()
