"""``cepheid explain --mermaid``, ``--svg`` and ``--stacks``: what runs a query, drawn."""

import pytest

import cepheid as cep


@pytest.mark.parametrize("format", ["mermaid", "svg"])
def test_a_drawing_goes_to_stdout_or_to_a_file(run, folder, format):
    expected = cep.read_query(folder / "theft.sase").automaton(format)
    outcome = run("explain", "theft.sase", f"--{format}")
    assert (outcome.code, outcome.out, outcome.err) == (0, expected, "")
    outcome = run("explain", "theft.sase", f"--{format}", "-o", "drawing")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    assert (folder / "drawing").read_text(encoding="utf-8") == expected


def test_an_explanation_can_go_to_a_file_too(run, folder):
    shown = run("explain", "theft.sase").out
    assert run("explain", "theft.sase", "-o", "theft.txt").out == ""
    assert (folder / "theft.txt").read_text(encoding="utf-8") == shown


def test_a_drawing_checks_the_events(run):
    outcome = run("explain", "-q", "PATTERN Shelf a WHERE a.tagid = 7", "events.csv", "--svg")
    assert outcome.code == 1
    assert outcome.out == ""
    assert "no attribute 'tagid'" in outcome.err


def test_a_query_without_an_automaton_says_why(run):
    texts = "PATTERN SEQ(Shelf a, Exit c) WHERE concat(a.zone, c.zone) = 'x'"
    outcome = run("explain", "-q", texts, "events.csv", "--mermaid")
    assert outcome.code == 1
    assert outcome.err.startswith("error: nfa_b cannot run this query: ")


def test_a_lazy_chain_is_drawn_where_it_is_asked_for(run):
    outcome = run("explain", "theft.sase", "--mermaid", "--evaluation", "lazy_chain")
    assert outcome.code == 0
    assert "store" in outcome.out


def test_only_one_drawing_is_made(run):
    outcome = run("explain", "theft.sase", "--mermaid", "--svg")
    assert outcome.code == 2
    assert "choose one" in outcome.err


def test_a_file_that_cannot_be_written_is_a_fault(run):
    outcome = run("explain", "theft.sase", "--svg", "-o", "nowhere/theft.svg")
    assert outcome.code == 1
    assert "cannot write 'nowhere/theft.svg'" in outcome.err


def test_stacks_are_drawn_after_the_events(run, folder):
    expected = cep.read_query(folder / "theft.sase").stacks(folder / "events.csv")
    assert "Exit@09:40:00" in expected
    outcome = run("explain", "theft.sase", "events.csv", "--stacks")
    assert (outcome.code, outcome.out, outcome.err) == (0, expected, "")
    assert run("explain", "theft.sase", "events.csv", "--stacks", "--svg").code == 2


def test_stacks_need_events_and_single_ones(run):
    assert run("explain", "theft.sase", "--stacks").code == 2
    outcome = run("explain", "-q", "PATTERN Shelf+ a[]", "events.csv", "--stacks")
    assert outcome.code == 1
    assert outcome.err.startswith("error: instance_stacks cannot run this query: ")
