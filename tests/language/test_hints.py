"""Advice for what people write who know SQL, regular expressions or Python."""

import re

import pandas as pd
import pytest

import cepheid as cep


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("PATTERN SEQ(A within, B b)", "'within' is a keyword"),
        ("PATTERN SEQ(A a, B+ where[])", "put it in backticks: `where`"),
        ("PATTERN A B+ C", "SEQ(A a, B+ b[], C c)"),
        ("PATTERN A B C", "SEQ(A a, B+ b[], C c)"),
        ("PATTERN SEQ(A a, B b) WITHIN INTERVAL '10' MINUTE", "Write 10 minutes, without INTERVAL"),
        ("PATTERN SEQ(A a, B b) WHERE b.ts - a.ts < INTERVAL '2' hours", "Write 2 hours"),
        ("PATTERN SEQ(A a, B b) WITHIN '10 minutes'", "such as 10 minutes, without quotes"),
        ("PATTERN SEQ(A a, B b) GROUP BY x", "write an equivalence test in WHERE: [x]"),
        ("PATTERN SEQ(A a, B b) WHERE a.x > 1 PARTITION BY a.x", "equivalence test in WHERE: [x]"),
        ("PATTERN SEQ(A a, B b) RETURN a.x ORDER BY a.x", "sort the result"),
        ("PATTERN SEQ(A a, B b) WITHIN 5 min SELECT a.x", "What SELECT lists comes after RETURN"),
        ("PATTERN A+ a[] WHERE [x] HAVING count(*) > 1", "are in WHERE too: a.LEN >= 3"),
        ("PATTERN SEQ(A a, B b) WHERE [x] LIMIT 5", "--limit N"),
        ("PATTERN SEQ(A a, B b) WITHIN 10m", "Minutes are written min or minutes"),
        ("PATTERN SEQ(A a, B b) WHERE a.unit price > 3", "a.`unit price`"),
        ("PATTERN SEQ(A+ a[], B b) WHERE a[1].unit price > 3", "a[1].`unit price`"),
        ("PATTERN SEQ(A a, B b) RETURN a.unit price", "name an item with AS"),
        ("SELECT * FROM events", "A query begins with PATTERN"),
        ('+++\nseverity = "high"\n+++\nEVENT A', "cep.rules(FOLDER)"),
        ("---\nseverity: high\n---\nEVENT A", "cep.rules(FOLDER)"),
        ("theft.sase", "This looks like a file name"),
        ("PATTERN SEQ(A a, B b) WHERE a.x > T", "--set T=…"),
        ("PATTERN SEQ(A a, B b) WITHIN T", "--set T=…"),
        ("PATTERN B{N} b[]", "--set N=…"),
    ],
)
def test_a_query_that_is_nearly_right(text, advice):
    with pytest.raises(cep.CepheidError, match=re.escape(advice)):
        cep.query(text).match({"ts": [1], "type": ["A"]})


def test_the_text_of_a_query_is_no_file():
    with pytest.raises(cep.OptionError, match=r"use query\(\), or -q on the command line"):
        cep.read_query("PATTERN SEQ(A a, B b)")


@pytest.mark.parametrize(
    ("events", "advice"),
    [
        ({"type": ["A"]}, "time='column' (--time COLUMN)"),
        ({"ts": [1]}, "type='column' (--type COLUMN), or give a table for each type"),
        ({"ts": [1]}, "(Shelf=FILE)"),
        ({"A": {"x": [1]}}, "time='column' (--time COLUMN)"),
        (pd.Series([1]), "one column; give the whole frame"),
    ],
)
def test_events_that_lack_something(events, advice):
    with pytest.raises(cep.EventError, match=re.escape(advice)):
        cep.query("EVENT A").match(events)
