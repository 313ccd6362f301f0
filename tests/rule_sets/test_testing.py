"""Tests of rules say what a rule finds and must not find, and can be recorded."""

import tomllib
from xml.etree import ElementTree

import pytest

from cepheid.rule_sets.testing import Case, junit, read_cases, write_cases

RULE = "PATTERN SEQ(A a, B b) WHERE [id] WITHIN 5 RETURN b.x AS x, b.s AS s"
TEST = """\
[options]
time = "t"

[[case]]
name = "a pair"
events = '''
t,type,id,x,s
1,A,7,1.5,u
2,B,7,2.5,
9,B,7,3.5,v
'''
expect = [{ start = 1, end = 2, key = { id = 7 }, values = { x = 2.5 } }]

[[case]]
events = "none.csv"
expect = []
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "pair.sase").write_text(RULE)
    (tmp_path / "none.csv").write_text("t,type,id,x,s\n1,A,1,1,p\n")
    (tmp_path / "pair.test.toml").write_text(TEST)
    return tmp_path


def results(folder):
    return [case.run() for case in read_cases(folder)]


def test_cases_pass_if_the_rule_finds_what_it_must(folder):
    found = results(folder)
    assert [str(each) for each in found] == [
        "pair.test.toml: a pair: ok",
        "pair.test.toml: case 2: ok",
    ]


def test_differences_are_shown(folder):
    (folder / "pair.sase").write_text(RULE.replace("WITHIN 5", "WITHIN 50"))
    first, second = results(folder)
    assert not first.passed
    assert str(first).splitlines() == [
        "pair.test.toml: a pair: FAILED",
        '  + found, not expected: {"start": 1, "end": 9, "key": {"id": 7}, '
        '"values": {"x": 3.5, "s": "v"}}',
    ]
    assert second.passed
    (folder / "pair.sase").write_text(RULE.replace("WITHIN 5", "WITHIN 1"))
    assert str(results(folder)[0]).splitlines()[1:] == [
        '  - expected, not found: {"start": 1, "end": 2, "key": {"id": 7}, "values": {"x": 2.5}}'
    ]


def test_values_that_are_given_are_complete(folder):
    (folder / "pair.test.toml").write_text(TEST.replace("x = 2.5", 'x = 2.5, s = "v"'))
    assert not results(folder)[0].passed
    (folder / "pair.test.toml").write_text(TEST.replace("values = { x = 2.5 }", "values = {}"))
    assert not results(folder)[0].passed
    only = "expect = [{ end = 2 }]"
    text = TEST[: TEST.index("expect")] + only + TEST[TEST.index("\n\n[[case]]\nevents") :]
    (folder / "pair.test.toml").write_text(text)
    assert results(folder)[0].passed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[case]]\nevents = 3", "case 1: events is CSV"),
        ("[[case]]\nevents = 'x.csv'\nexpect = 3", "case 1: expect is a list"),
        ("[[case]]\nevents = 'x.csv'\nexpct = []", "Did you mean 'expect'"),
        ("[[case]]\nevents = 'x.csv'\nexpect = [{ strt = 2 }]", "Did you mean 'start'"),
        ("name = 'x'", "there is no field 'name'"),
        ("", "it has no \\[\\[case\\]\\]"),
        ("[[case", "it is not TOML"),
    ],
)
def test_a_test_file_that_is_wrong_is_a_fault(folder, text, message):
    (folder / "pair.test.toml").write_text(text)
    (fault,) = read_cases(folder)
    with pytest.raises(Exception, match=message):
        raise fault.error


def test_a_case_that_cannot_run_fails_with_the_reason(folder):
    (folder / "pair.sase").write_text("PATTERN SEQ(A a")
    assert "the bracket '(' is not closed" in results(folder)[0].error
    (folder / "pair.sase").write_text("PATTERN A a WHERE a.nope = 1")
    assert "no attribute 'nope'" in results(folder)[0].error
    (folder / "pair.sase").write_text(RULE)
    (folder / "none.csv").unlink()
    assert "none.csv" in results(folder)[1].error
    (folder / "pair.sase").unlink()
    (fault,) = read_cases(folder)
    assert "there is no rule pair.sase" in fault.message


def test_a_case_without_expectations_fails(folder):
    (folder / "pair.test.toml").write_text("[[case]]\nevents = 'none.csv'\noptions = {time = 't'}")
    assert "does not say what to expect" in results(folder)[0].error


def test_written_cases_are_read_again(tmp_path):
    (tmp_path / "r.sase").write_text("PATTERN A a")
    file = tmp_path / "r.test.toml"
    expect = ({"start": "2024-05-01T00:00:00", "values": {"a b": 'x"\\\n', "l": [1, True, 0.5]}},)
    cases = [
        Case(tmp_path / "r.sase", file, "one é", "a,b\n1,2\n", expect, {"time": "a"}),
        Case(tmp_path / "r.sase", file, "two", "events.csv", ()),
    ]
    write_cases(file, cases)
    assert list(read_cases(file)) == cases
    assert tomllib.loads(file.read_text())["case"][0]["options"] == {"time": "a"}


def test_results_are_written_for_continuous_integration(folder):
    (folder / "pair.sase").write_text(RULE.replace("WITHIN 5", "WITHIN 50"))
    (folder / "lost.test.toml").write_text(TEST)
    read = list(read_cases(folder))
    text = junit([each.run() for each in read if isinstance(each, Case)], [read[0]])
    suite = ElementTree.fromstring(text)
    assert suite.attrib["tests"] == "3"
    assert suite.attrib["failures"] == "1"
    assert suite.attrib["errors"] == "1"
    (failure,) = suite.findall("testcase/failure")
    assert failure.attrib["message"] == "0 not found, 1 unexpected"
    assert "found, not expected" in failure.text


def test_results_with_control_characters_are_xml(folder):
    odd = TEST.replace("a pair", "a \\u001b pair").replace("2.5,", "2.5,u\x01")
    (folder / "pair.test.toml").write_text(odd.replace("'''", '"""').replace("\x01", "\\u0001"))
    results_now = results(folder)
    suite = ElementTree.fromstring(junit(results_now, []))
    assert [case.attrib["name"] for case in suite] == ["a \\x1b pair", "case 2"]
    assert "u\\u0001" in suite[0][0].text


def test_a_rule_is_tested_before_it_is_enabled(folder):
    (folder / "pair.sase").write_text(f"+++\nenabled = false\n+++\n{RULE}")
    assert all(each.passed for each in results(folder))


pytest_plugins = ["pytester"]


def test_pytest_runs_the_cases(pytester, folder):
    # As a line for older versions, which does no harm beside the entry point.
    pytester.makeconftest('pytest_plugins = ["cepheid.rule_sets.pytest_plugin"]')
    other = pytester.mkdir("other") / "others.test.toml"
    other.write_text("x = 1")  # There are no rules beside it.
    for path in folder.iterdir():
        (pytester.path / path.name).write_text(path.read_text())
    result = pytester.runpytest("-v")
    result.assert_outcomes(passed=2)
    (pytester.path / "pair.sase").write_text(RULE.replace("WITHIN 5", "WITHIN 50"))
    (pytester.path / "bad.test.toml").write_text("")
    result = pytester.runpytest("--continue-on-collection-errors")
    result.assert_outcomes(passed=1, failed=1, errors=1)
    result.stdout.fnmatch_lines(["*there is no rule bad.sase*", "*+ found, not expected: *"])
