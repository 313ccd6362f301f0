"""Rules are read from mappings, folders and tables, and all their faults are reported."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import cepheid as cep
from cepheid.rule_sets.reading import split_front_matter

PAIR = "PATTERN SEQ(A a, B b) WITHIN 5"
EVENTS = {"ts": [1, 2], "type": ["A", "B"]}
FULL = """\
+++
name = "renamed"
severity = "high"
description = "two in a row"
tags = ["demo", "pairs"]
enabled = false
parameters = { T = 3 }
output = "first"
at_most_once_per = "5 minutes"
+++
PATTERN SEQ(A a, B b) WHERE a.x > T WITHIN 5 minutes
"""


def write(folder, **texts):
    for name, text in texts.items():
        path = folder / f"{name}.sase"
        path.write_text(text)
    return folder


def test_a_mapping_has_queries_or_fields():
    rules = cep.rules({"p": PAIR, "q": {"query": PAIR, "severity": "low"}, "r": cep.query(PAIR)})
    assert list(rules) == ["p", "q", "r"]
    assert rules["q"].severity == "low"
    assert rules.match(EVENTS).counts == {"p": 1, "q": 1, "r": 1}


def test_a_file_has_fields_before_its_query(tmp_path):
    rules = cep.rules(write(tmp_path, file=FULL))
    assert rules["renamed"] == cep.Rule(
        "renamed",
        "\n" * 10 + "PATTERN SEQ(A a, B b) WHERE a.x > T WITHIN 5 minutes\n",
        severity="high",
        description="two in a row",
        tags=("demo", "pairs"),
        enabled=False,
        parameters={"T": 3},
        output="first",
        at_most_once_per="5 minutes",
        source="file.sase",
    )


def test_a_rule_without_a_name_is_called_like_its_path(tmp_path):
    (tmp_path / "fraud").mkdir()
    (tmp_path / "fraud" / "card.sql").write_text("MATCH_RECOGNIZE (ORDER BY ts PATTERN (A B))")
    write(tmp_path, pair=PAIR)
    assert list(cep.rules(tmp_path)) == ["fraud/card", "pair"]


def test_a_single_file_is_a_set_of_one(tmp_path):
    write(tmp_path, pair=PAIR)
    assert list(cep.rules(tmp_path / "pair.sase")) == ["pair"]


def test_a_fault_is_shown_on_its_line_of_the_file(tmp_path):
    text = '+++\nseverity = "low"\n+++\nPATTERN SEQ(A a, B b) WHERE a.x > T'
    with pytest.raises(cep.RuleSetError, match=r"file\.sase:4:35: the name 'T' has no value"):
        cep.rules(write(tmp_path, file=text), strict=True)


TABLE = {
    "name": ["p", "q"],
    "query": ["PATTERN A a WHERE a.x > T", PAIR],
    "severity": ["high", None],
    "tags": ["x, y", None],
    "enabled": [True, None],
    "parameters": ['{"T": 3}', None],
}


@pytest.mark.parametrize(
    "table",
    [TABLE, pa.table(TABLE), pd.DataFrame(TABLE), pl.DataFrame(TABLE)],
    ids=["columns", "arrow", "pandas", "polars"],
)
def test_a_table_has_a_column_for_each_field(table):
    rules = cep.rules(table)
    assert (rules["p"].severity, rules["p"].tags, rules["p"].parameters) == (
        "high",
        ("x", "y"),
        {"T": 3},
    )
    assert rules["q"] == cep.Rule("q", PAIR, source="q")


def test_a_table_may_have_lists_and_structs_and_be_a_file(tmp_path):
    table = pa.table(
        {
            "name": ["p", "q"],
            "query": ["PATTERN A a WHERE a.x > T", "PATTERN A a WHERE a.x > U"],
            "tags": [["x"], []],
            "parameters": [{"T": 1, "U": None}, {"T": None, "U": 2}],
        }
    )
    pyarrow.parquet.write_table(table, tmp_path / "rules.parquet")
    rules = cep.rules(tmp_path / "rules.parquet")
    assert rules["p"].tags == ("x",)
    assert [rules[name].parameters for name in "pq"] == [{"T": 1}, {"U": 2}]


def test_a_table_needs_names_and_queries():
    with pytest.raises(cep.OptionError, match="has no column 'query'"):
        cep.rules({"name": ["p"], "text": [PAIR]})


BROKEN = {
    "syntax": "PATTERN SEQ(A a",
    "meaning": "PATTERN SEQ(A a, B b) WHERE c.x = 1",
    "field": {"query": PAIR, "severty": "low"},
    "tags": {"query": PAIR, "tags": "x"},
    "no_query": {"severity": "low"},
    "gap": {"query": PAIR, "at_most_once_per": "often"},
    "output": {"query": PAIR, "output": "frist"},
    "enabled": {"query": PAIR, "enabled": "yes"},
    "parameters": {"query": PAIR, "parameters": [1]},
    "severity": {"query": PAIR, "severity": 3},
    "rows": {"query": "MATCH_RECOGNIZE (PATTERN (A))", "output": "first"},
    "kind": 7,
    "disagrees": {"query": PAIR + " OUTPUT LONGEST", "output": "first"},
    "script": "PATTERN A a; PATTERN B b",
}
SAID = {
    "syntax": "the bracket '(' is not closed",
    "meaning": "no variable 'c'",
    "field": "Did you mean 'severity'?",
    "tags": "tags is a list of strings",
    "no_query": "it has no query",
    "gap": "at_most_once_per='often' is not a duration",
    "output": "Did you mean 'first'?",
    "enabled": "enabled is true or false",
    "parameters": "parameters maps names to values",
    "severity": "severity is a string",
    "rows": "output, at_most_once_per and timed_out are for SASE+ queries",
    "kind": "a rule is a query or a mapping of its fields, not int",
    "disagrees": "does not agree with the OUTPUT clause",
    "script": "this is a script of several queries",
}


def test_all_faults_of_all_rules_are_in_one_report_and_the_others_run():
    with pytest.warns(cep.CepheidWarning, match="14 rules cannot run"):
        rules = cep.rules({**BROKEN, "good": PAIR})
    assert list(rules) == ["good"]
    assert {fault.rule for fault in rules.faults} == {*BROKEN}
    for fault in rules.faults:
        assert SAID[fault.rule] in fault.message
    assert len(rules.match(EVENTS)) == 1
    assert rules.check() == list(rules.faults)


def test_a_name_that_is_taken_is_a_fault_and_the_first_rule_runs(tmp_path):
    write(tmp_path, a='+++\nname = "p"\n+++\n' + PAIR, b='+++\nname = "p"\n+++\nPATTERN A a')
    with pytest.warns(cep.CepheidWarning, match=r"another rule of this name.*'a.sase'"):
        rules = cep.rules(tmp_path)
    assert rules["p"].source == "a.sase"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("+++\nseverity = 3\nPATTERN A a", "there is none"),
        ("+++\nseverity: low\n+++\nPATTERN A a", "are not TOML"),
        ('+++\nquery = "PATTERN A a"\n+++\n', "not a field"),
        ("---\nseverity: [low\n---\nPATTERN A a", "are not YAML"),
        ("---\n- low\n---\nPATTERN A a", "are a mapping"),
        ("---\nseverity: low\nPATTERN A a", "there is none"),
    ],
)
def test_fields_that_cannot_be_read_are_a_fault(tmp_path, text, message):
    with pytest.raises(cep.RuleSetError, match=message):
        cep.rules(write(tmp_path, file=text), strict=True)


def test_a_folder_that_does_not_exist_is_an_error(tmp_path):
    with pytest.raises(cep.OptionError, match="there is no such folder"):
        cep.rules(tmp_path / "nowhere")


def test_a_query_without_fields_stays_as_it_is():
    assert split_front_matter(PAIR) == ({}, PAIR)


def test_a_rule_that_does_not_exist_is_named():
    with pytest.raises(KeyError, match="Did you mean 'pair'"):
        cep.rules({"pair": PAIR})["piar"]


def test_fields_may_be_in_yaml() -> None:
    text = "---\nseverity: high\ntags: [retail, loss]\nparameters: {T: 5}\n---\nPATTERN A a"
    fields = {"severity": "high", "tags": ["retail", "loss"], "parameters": {"T": 5}}
    assert split_front_matter(text) == (fields, "\n" * 5 + "PATTERN A a")
    assert split_front_matter("---\n---\nPATTERN A a")[0] == {}


def test_a_rule_that_reads_the_composite_events_of_another_is_told_of_scripts():
    texts = {"pair": "PATTERN SEQ(A a, B b) RETURN Pair(x = a.x)", "use": "PATTERN Pair p"}
    with pytest.warns(cep.CepheidWarning, match=r"'use' reads .* 'Pair' .* cep\.script"):
        cep.rules(texts)


@pytest.mark.parametrize("rule", [{"severity": "\ud800"}, {"tags": ["a", "\ud800"]}])
def test_what_cannot_be_written_is_no_part_of_a_rule(rule):
    with pytest.raises(cep.RuleSetError, match="lone surrogate"):
        cep.rules({"r": {"query": PAIR, **rule}}, strict=True)
