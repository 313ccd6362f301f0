"""The automaton of a query as a person reads it: its states, edges and formulas."""

from textwrap import dedent

import pytest
from paper_queries import PAPER_QUERIES

import cepheid as cep
from cepheid.analysis.analyse import analyse
from cepheid.explain.automaton import Automaton, EdgeKind, nfa_b_automata
from cepheid.language.parser import parse

QUERY_3 = PAPER_QUERIES["Agrawal08 query 3"]


def automata(text: str) -> tuple[Automaton, ...]:
    return nfa_b_automata(analyse(parse(text)))


def formulas(text: str) -> dict[str, str]:
    """The formula of each edge of a query of one alternative."""
    (automaton,) = automata(text)
    return {edge.name.removeprefix("θ_"): str(edge.formula) for edge in automaton.edges}


# --- [Agrawal08, Figure 2]


def test_the_structure_of_query_3_is_that_of_figure_2a() -> None:
    (automaton,) = automata(QUERY_3)
    assert [state.name for state in automaton.states] == ["a[1]", "a[i]", "b", "F"]
    assert [state.is_final for state in automaton.states] == [False, False, False, True]
    assert [(edge.kind.value, edge.source, edge.target) for edge in automaton.edges] == [
        ("begin", 0, 1),
        ("take", 1, 1),
        ("ignore", 1, 1),
        ("proceed", 1, 2),
        ("begin", 2, 3),
        ("ignore", 2, 2),
    ]


def test_the_formulas_of_query_3_are_those_of_figure_2c() -> None:
    # Figure 2 leaves out the tests of types. ¬θ_take is short for the negation of Figure 2(b):
    # the window in θ_take makes no difference, for it stands beside.
    window = "time < a[1].time + 1 hour"
    assert formulas(QUERY_3) == {
        "a[1]_begin": "a[1] ∈ Stock ∧ a[1].volume > 1000",
        "a[i]_take": (
            "a[i] ∈ Stock ∧ a[i].symbol = a[1].symbol ∧ a[i].price > avg(a[..i-1].price) "
            f"∧ a[i].{window}"
        ),
        "a[i]_ignore": f"¬θ_a[i]_take ∧ a[i].{window}",
        "a[i]_proceed": "θ_b_begin ∨ (¬θ_a[i]_take ∧ ¬θ_a[i]_ignore)",
        "b_begin": (
            f"b ∈ Stock ∧ b.symbol = a[1].symbol ∧ b.volume < 0.8 * a[LEN].volume ∧ b.{window}"
        ),
        "b_ignore": f"¬θ_b_begin ∧ b.{window}",
    }


# --- step 2: conditions


def test_the_formulas_before_optimisation_are_those_of_figure_2b() -> None:
    (automaton,) = nfa_b_automata(analyse(parse(QUERY_3)), is_basic=True)
    assert {edge.name: str(edge.formula) for edge in automaton.edges} == {
        "θ_a[1]_begin": "a[1] ∈ Stock ∧ a[1].volume > 1000",
        "θ_a[i]_take": "a[i] ∈ Stock ∧ a[i].symbol = a[1].symbol "
        "∧ a[i].price > avg(a[..i-1].price)",
        "θ_a[i]_ignore": "¬θ_a[i]_take",
        "θ_a[i]_proceed": "True",
        "θ_b_begin": "b ∈ Stock ∧ b.symbol = a[1].symbol ∧ b.volume < 0.8 * a[LEN].volume "
        "∧ b.time < a[1].time + 1 hour",
        "θ_b_ignore": "¬(b ∈ Stock ∧ b.symbol = a[1].symbol ∧ b.volume < 0.8 * a[LEN].volume)",
    }


def test_a_condition_on_every_event_is_tested_at_the_first_one_too() -> None:
    found = formulas("PATTERN SEQ(A a, B+ b[]) WHERE b[i].x > a.x")
    assert found["b[1]_begin"] == "b[1] ∈ B ∧ b[1].x > a.x"
    assert found["b[i]_take"] == "b[i] ∈ B ∧ b[i].x > a.x"


def test_a_condition_on_a_numbered_event_is_tested_there() -> None:
    found = formulas("PATTERN SEQ(B+ b[], C c) WHERE b[3].x > 1")
    assert found["b[i]_take"] == "b[i] ∈ B ∧ (i != 3 ∨ b[3].x > 1)"
    assert found["b[i]_proceed"] == "b.LEN >= 3 ∧ θ_c_begin"


def test_a_condition_on_the_whole_list_is_tested_when_it_is_left() -> None:
    found = formulas("PATTERN SEQ(B+ b[], C c) WHERE sum(b[].x) < 9 AND b[i].x < b[LEN].x")
    assert found["b[i]_proceed"] == "sum(b[].x) < 9 ∧ (∀b[i]: b[i].x < b[LEN].x) ∧ θ_c_begin"


def test_what_ranges_over_events_that_were_selected_before_says_so() -> None:
    found = formulas("PATTERN SEQ(B+ b[], C c) WHERE (b[i].x > b[i-1].x AND c.y = 3) OR c.z = 1")
    assert found["c_begin"] == (
        "c ∈ C ∧ (∀b[i>1]: b[i].x > b[i-1].x ∨ c.z = 1) ∧ (∀b[i>1]: c.y = 3 ∨ c.z = 1)"
    )
    found = formulas("PATTERN SEQ(A+ a[], B+ b[]) WHERE a[i].x < b[i].x AND b[i].y > b[2].y")
    assert found["b[1]_begin"] == "b[1] ∈ B ∧ (∀a[i]: a[i].x < b[1].x)"
    assert found["b[i]_take"] == (
        "b[i] ∈ B ∧ (∀a[i]: a[i].x < b[i].x) ∧ (i != 2 ∨ b[1].y > b[2].y) ∧ "
        "(i != 2 ∨ b[2].y > b[2].y) ∧ (i < 2 ∨ (∀b[i]: b[i].y > b[2].y))"
    )


def test_a_condition_on_no_event_is_tested_first() -> None:
    assert formulas("PATTERN SEQ(A a, B b) WHERE 1 < 2")["a_begin"] == "a ∈ A ∧ 1 < 2"


def test_conditions_are_in_conjunctive_normal_form() -> None:
    found = formulas("PATTERN A a WHERE NOT (a.x IN (1, 2) AND a.y IS NULL) AND a.z = 1")
    assert found == {"a_begin": "a ∈ A ∧ (NOT a.x IN (1, 2) ∨ a.y IS NOT NULL) ∧ a.z = 1"}


def test_equivalence_tests_are_expanded() -> None:
    found = formulas("PATTERN SEQ(A a, B+ b[]) WHERE [k, `unit price`] AND [m = 'v']")
    assert found["a_begin"] == "a ∈ A ∧ a.m = 'v'"
    canonical = "{0}.k = a.k ∧ {0}.`unit price` = a.`unit price` ∧ {0}.m = 'v'"
    assert found["b[1]_begin"] == f"b[1] ∈ B ∧ {canonical.format('b[1]')}"
    assert found["b[i]_take"] == f"b[i] ∈ B ∧ {canonical.format('b[i]')}"


def test_several_types_are_tested_together() -> None:
    assert formulas("PATTERN ANY(A, B-C, `d e`) x") == {"x_begin": "x ∈ ANY(A, B-C, `d e`)"}


# --- step 3: selection strategies


@pytest.mark.parametrize(
    ("strategy", "inside", "waiting"),
    [
        ("strict_contiguity", "False", "False"),
        ("partition_contiguity", "¬(a[i].k = a[1].k)", "¬(b.k = a[1].k)"),
        ("skip_till_next_match", "¬θ_a[i]_take", "¬θ_b_begin"),
        ("skip_till_any_match", "True", "True"),
    ],
)
def test_what_is_ignored_depends_on_the_selection_strategy(
    strategy: str, inside: str, waiting: str
) -> None:
    pattern = f"PATTERN SEQ(A+ a[], B b) WHERE {strategy} {{ [k] }}"
    found = formulas(pattern)
    assert (found["a[i]_ignore"], found["b_ignore"]) == (inside, waiting)
    in_window = formulas(f"{pattern} WITHIN 5")
    window = "{0}.time < a[1].time + 5"
    for name, unit, ignored in (("a[i]", "a[i]", inside), ("b", "b", waiting)):
        expected = {"False": "False", "True": window}.get(ignored, f"{ignored} ∧ {window}")
        assert in_window[f"{name}_ignore"] == expected.format(unit)


def test_a_partition_that_nothing_defines_is_never_left() -> None:
    assert formulas("PATTERN SEQ(A a, B b) WHERE partition_contiguity")["b_ignore"] == "False"


def test_a_partition_of_several_attributes_is_negated_as_a_whole() -> None:
    found = formulas("PATTERN SEQ(A a, B b) WHERE partition_contiguity { [k] AND [m = 1] }")
    assert found["b_ignore"] == "¬(b.k = a.k ∧ b.m = 1)"


# --- steps 4 to 6: windows, proceed edges


@pytest.mark.parametrize(
    ("window", "condition"),
    [
        ("90 minutes", "b.time < a.time + 90 minutes"),
        ("10", "b.time < a.time + 10"),
        ("2.5", "b.time < a.time + 2.5"),
        ("50 EVENTS", "b.position < a.position + 50"),
        ("50 EVENTS PER PARTITION", "b.partition_position < a.partition_position + 50"),
    ],
)
def test_the_window_is_on_every_edge_that_reads_an_event(window: str, condition: str) -> None:
    assert formulas(f"PATTERN SEQ(A a, B b) WITHIN {window}") == {
        "a_begin": "a ∈ A",
        "b_begin": f"b ∈ B ∧ {condition}",
        "b_ignore": condition,
    }


def test_a_list_at_the_end_is_left_within_the_window() -> None:
    found = formulas("PATTERN SEQ(A a, B+ b[]) WHERE b.LEN > 2 WITHIN 5")
    assert found["b[i]_proceed"] == "b.LEN > 2 ∧ b[LEN].time < a.time + 5"


@pytest.mark.parametrize(
    ("strategy", "proceed"),
    [
        ("strict_contiguity", "θ_b_begin ∨ ¬θ_a[i]_take"),
        ("partition_contiguity { [k] }", "θ_b_begin ∨ (¬θ_a[i]_take ∧ ¬θ_a[i]_ignore)"),
        ("skip_till_next_match", "θ_b_begin ∨ (¬θ_a[i]_take ∧ ¬θ_a[i]_ignore)"),
        ("skip_till_any_match", "θ_b_begin"),
    ],
)
def test_a_list_is_left_for_an_event_that_can_begin_the_next_component(
    strategy: str, proceed: str
) -> None:
    pattern = f"PATTERN SEQ(A+ a[], B b) WHERE {strategy}"
    assert formulas(pattern)["a[i]_proceed"] == proceed


def test_bounds_are_conditions_on_counts() -> None:
    found = formulas("PATTERN SEQ(A{2,5} a[], B b) WHERE skip_till_next_match")
    assert found["a[i]_take"] == "a[i] ∈ A ∧ i <= 5"
    assert found["a[i]_ignore"] == "¬θ_a[i]_take ∧ i <= 5"
    assert found["a[i]_proceed"] == ("a.LEN >= 2 ∧ (θ_b_begin ∨ (¬θ_a[i]_take ∧ ¬θ_a[i]_ignore))")
    assert formulas("PATTERN A{3,} a[]")["a[i]_proceed"] == "a.LEN >= 3"
    assert formulas("PATTERN A+ a[]")["a[i]_proceed"] == "True"


# --- alternatives and negation


def test_every_alternative_has_an_automaton() -> None:
    rows = [
        [state.name for state in automaton.states]
        for automaton in automata("PATTERN SEQ(A a, OR(B b, C c), D* d[])")
    ]
    assert rows == [
        ["a", "b", "F"],
        ["a", "b", "d[1]", "d[i]", "F"],
        ["a", "c", "F"],
        ["a", "c", "d[1]", "d[i]", "F"],
    ]


def test_negated_components_filter_the_matches() -> None:
    (automaton,) = automata("""
        PATTERN SEQ(~(L l), A+ a[], ~(M m), C c, ~(N n))
        WHERE [k] AND m.x = a[2].x AND n.x < a[i].x
        WITHIN 10
    """)
    assert [(f"no {each.name} {each}", str(each.formula)) for each in automaton.filters] == [
        ("no l before a", "l ∈ L ∧ l.k = a[1].k ∧ c.time < l.time + 10"),
        ("no m between a and c", "m ∈ M ∧ m.k = a[1].k ∧ m.x = a[2].x ∧ a.LEN >= 2"),
        (
            "no n after c, known when the window ends",
            "n ∈ N ∧ n.k = a[1].k ∧ (∀a[i]: n.x < a[i].x) ∧ n.time < a[1].time + 10",
        ),
    ]
    assert [each.gap for each in automaton.filters] == [0, 2, None]
    assert EdgeKind.IGNORE in {edge.kind for edge in automaton.edges if edge.source == 2}


def test_a_negation_may_be_anywhere_in_the_window() -> None:
    (automaton,) = automata("PATTERN AND(A a, ~(N n)) WITHIN 5")
    (negated,) = automaton.filters
    assert str(negated) == "anywhere in the window, known when the window ends"
    assert str(negated.formula) == "n ∈ N ∧ a.time < n.time + 5 ∧ n.time < a.time + 5"


def test_what_cannot_be_seen_is_escaped() -> None:
    assert formulas("EVENT A WHERE x = 'a\tb\x00'") == {"A_begin": r"A ∈ A ∧ A.x = 'a\tb\x00'"}


# --- explain


def test_explain_shows_the_automaton_and_says_nothing_twice() -> None:
    _, plan = cep.query(QUERY_3).explain().split("\n\n")
    assert plan[plan.index("pattern:") :] == dedent("""\
        pattern:
          Stock+ a[]
          Stock b
          partition key: a[i].symbol = b.symbol (equivalence test)
        automaton:
          a[1] → a[i] → b → F
          θ_a[1]_begin   = a[1] ∈ Stock ∧ a[1].volume > 1000
          θ_a[i]_take    = a[i] ∈ Stock ∧ a[i].symbol = a[1].symbol
                           ∧ a[i].price > avg(a[..i-1].price) ∧ a[i].time < a[1].time + 1 hour
          θ_a[i]_ignore  = ¬θ_a[i]_take ∧ a[i].time < a[1].time + 1 hour
          θ_a[i]_proceed = θ_b_begin ∨ (¬θ_a[i]_take ∧ ¬θ_a[i]_ignore)
          θ_b_begin      = b ∈ Stock ∧ b.symbol = a[1].symbol ∧ b.volume < 0.8 * a[LEN].volume
                           ∧ b.time < a[1].time + 1 hour
          θ_b_ignore     = ¬θ_b_begin ∧ b.time < a[1].time + 1 hour""")


def test_explain_numbers_the_automata_of_alternatives() -> None:
    shown = cep.query("PATTERN OR(A a, B b) WHERE b.x = 1").explain(evaluation="nfa_b")
    assert shown.endswith(
        dedent("""\
        alternative 1:
          A a
        automaton 1:
          a → F
          θ_a_begin = a ∈ A
        alternative 2:
          B b
        automaton 2:
          b → F
          θ_b_begin = b ∈ B ∧ b.x = 1""")
    )


def test_explain_shows_no_automaton_where_none_runs() -> None:
    conjunction = cep.query("PATTERN AND(A a, B b) WHERE a.x < b.x").explain()
    assert "automaton:" not in conjunction
    assert "condition: a.x < b.x" in conjunction
    by_reference = cep.query("PATTERN SEQ(A a, B b)").explain(evaluation="reference")
    assert "automaton:" not in by_reference
    assert "in order: a, b" in by_reference
