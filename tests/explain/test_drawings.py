"""Automata as drawings: an SVG that any viewer reads, and a Mermaid flowchart."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path
from textwrap import dedent

import pytest
from paper_queries import PAPER_QUERIES

import cepheid as cep

QUERY_3 = PAPER_QUERIES["Agrawal08 query 3"]
IMAGES = Path(__file__).parents[2] / "docs" / "images"
SVG = "{http://www.w3.org/2000/svg}"
ODD = "a & b < c > d \" e ' f # g \\ h ; `"
"""What has a meaning in XML, in Mermaid or in HTML."""


def drawn(text: str) -> ET.Element:
    return ET.fromstring(cep.query(text).automaton("svg"))


def words(drawing: ET.Element) -> list[str]:
    return [element.text or "" for element in drawing.iter(f"{SVG}text")]


def test_a_drawing_has_every_state_edge_and_formula() -> None:
    drawing = drawn(QUERY_3)
    shown = words(drawing)
    assert shown[:2] == ["SEQ(Stock+ a[], Stock b)", "skip_till_next_match, WITHIN 1 hour"]
    for state in ("a[1]", "a[i]", "b", "F"):
        assert shown.count(state) == 1
    kinds = [word for word in shown if word in ("begin", "take", "ignore", "proceed")]
    assert sorted(kinds) == ["begin", "begin", "ignore", "ignore", "proceed", "take"]
    assert "θ_a[i]_proceed" in shown
    assert "θ_b_begin ∨ (¬θ_a[i]_take ∧ ¬θ_a[i]_ignore)" in shown
    # The final state is a circle in a circle.
    assert len(list(drawing.iter(f"{SVG}circle"))) == 5


def test_every_line_style_has_an_edge_and_a_sample() -> None:
    styles = [path.get("class") for path in drawn(QUERY_3).iter(f"{SVG}path")]
    # One more for the arrow to the start.
    assert styles.count("begin") == 2 * 2 + 1
    assert (styles.count("take"), styles.count("ignore"), styles.count("proceed")) == (2, 4, 2)


def test_an_edge_that_cannot_be_taken_is_not_drawn() -> None:
    text = "PATTERN SEQ(A a, B b) WHERE strict_contiguity"
    drawing = drawn(text)
    assert "ignore" not in words(drawing)
    assert "False" in words(drawing)
    assert "ignore" not in cep.query(text).automaton("mermaid").replace("θ_b_ignore", "")


def test_negated_components_are_drawn_at_their_places() -> None:
    drawing = drawn("PATTERN SEQ(A a, ~(B b), C c, ~(D d)) WHERE [k] WITHIN 10")
    shown = words(drawing)
    assert shown.count("no b") == shown.count("no d") == 2
    assert "between a and c: b ∈ B ∧ b.k = a.k" in shown
    assert "after c, known when the window ends: d ∈ D ∧ d.k = a.k ∧ d.time < a.time + 10" in shown


def test_alternatives_are_drawn_below_each_other() -> None:
    shown = words(drawn("PATTERN SEQ(A a, OR(B b, C c), D* d[])"))
    assert [word for word in shown if word.startswith("alternative")] == [
        "alternative 1: SEQ(A a, B b)",
        "alternative 2: SEQ(A a, B b, D+ d[])",
        "alternative 3: SEQ(A a, C c)",
        "alternative 4: SEQ(A a, C c, D+ d[])",
    ]
    assert shown.count("F") == 4


LONG = " OR ".join(f"c.attribute_{number} = {number}" for number in range(40))


@pytest.mark.parametrize(
    "text",
    [
        *(PAPER_QUERIES[f"Agrawal08 query {number}"] for number in (1, 2, 3)),
        f"PATTERN SEQ(A a, B+ b[], C c) WHERE {LONG}",
        "PATTERN SEQ(" + ", ".join(f"T+ v{number}[]" for number in range(20)) + ")",
        f"PATTERN SEQ(A {'very_' * 40}long, ~(N {'very_' * 20}n), B b)",
        "PATTERN SEQ(A `株式取引`, B b) WHERE b.x = '" + "株" * 200 + "'",
    ],
)
def test_nothing_is_outside_the_picture_and_no_texts_overlap(text: str) -> None:
    drawing = drawn(text)
    _, _, width, height = map(float, drawing.get("viewBox", "").split())
    boxes: list[tuple[float, float, float, float]] = []
    for element in drawing.iter(f"{SVG}text"):
        style = element.get("class", "")
        # A letter is about as wide; a Chinese one twice.
        letter = 8.5 if "heading" in style else 6.5 if "label" in style else 7.9
        cells = sum(2 if letter > "\u2fff" else 1 for letter in element.text or "")
        x, y = float(element.get("x", "")), float(element.get("y", ""))
        if "middle" in style:
            x -= cells * letter / 2
        boxes.append((x, y - 10, x + cells * letter, y + 3))
    for left, top, right, bottom in boxes:
        assert left >= 0
        assert top >= 0
        assert right <= width
        assert bottom <= height
    for number, (left, top, right, bottom) in enumerate(boxes):
        for other in boxes[number + 1 :]:
            apart = other[0] >= right or other[2] <= left or other[1] >= bottom or other[3] <= top
            assert apart, (boxes[number], other)


def test_text_is_escaped() -> None:
    doubled = ODD.replace("'", "''")
    query = cep.query(f"PATTERN SEQ(A a, B `b & <c>`) WHERE a.x = '{doubled}'")
    drawing = ET.fromstring(query.automaton("svg"))
    assert f"a ∈ A ∧ a.x = '{doubled}'" in words(drawing)
    assert "`b & <c>`" in words(drawing)
    flowchart = query.automaton("mermaid")
    labels = re.findall(r'"([^"\n]*)"', flowchart.partition("flowchart")[2])
    assert any(
        "a.x = 'a #38; b #60; c #62; d #34; e '' f #35; g #92; h ; #96;'" in label
        for label in labels
    )
    for label in labels:
        assert not re.search(r"[`\\&<>]|#(?!\d+;)", label.replace("<br/>", ""))


def test_the_flowchart_of_query_3() -> None:
    assert cep.query(QUERY_3).automaton() == dedent("""\
        %%{init: {"flowchart": {"wrappingWidth": 900}}}%%
        flowchart TB
            subgraph states_1["SEQ(Stock+ a[], Stock b)"]
                direction LR
                s1_0(("a[1]"))
                s1_1(("a[i]"))
                s1_2(("b"))
                s1_3((("F")))
                s1_0 --->|"begin"| s1_1
                s1_1 ===>|"proceed"| s1_2
                s1_1 -->|"take, ignore"| s1_1
                s1_2 --->|"begin"| s1_3
                s1_2 -.->|"ignore"| s1_2
            end
            formulas_1["FORMULAS"]
            style formulas_1 text-align:left
            states_1 ~~~ formulas_1
        """).replace(
        "FORMULAS",
        "<br/>".join(
            (
                "θ_a[1]_begin = a[1] ∈ Stock ∧ a[1].volume #62; 1000",
                "θ_a[i]_take = a[i] ∈ Stock ∧ a[i].symbol = a[1].symbol "
                "∧ a[i].price #62; avg(a[..i-1].price)",
                "∧ a[i].time #60; a[1].time + 1 hour",
                "θ_a[i]_ignore = ¬θ_a[i]_take ∧ a[i].time #60; a[1].time + 1 hour",
                "θ_a[i]_proceed = θ_b_begin ∨ (¬θ_a[i]_take ∧ ¬θ_a[i]_ignore)",
                "θ_b_begin = b ∈ Stock ∧ b.symbol = a[1].symbol "
                "∧ b.volume #60; 0.8 * a[LEN].volume",
                "∧ b.time #60; a[1].time + 1 hour",
                "θ_b_ignore = ¬θ_b_begin ∧ b.time #60; a[1].time + 1 hour",
            )
        ),
    )


def test_the_flowchart_of_alternatives_keeps_their_order() -> None:
    flowchart = cep.query("PATTERN SEQ(OR(A a, B b), ~(N n), C c)").automaton("mermaid")
    assert 'subgraph states_1["alternative 1: SEQ(A a, C c)"]' in flowchart
    assert 'subgraph states_2["alternative 2: SEQ(B b, C c)"]' in flowchart
    assert "    formulas_1 ~~~ states_2\n" in flowchart
    assert "<br/>no n between a and c:<br/>n ∈ N" in flowchart
    names = re.findall(r"^ +(\w+)\(\(", flowchart, re.MULTILINE)
    assert len(set(names)) == len(names) == 6


@pytest.mark.parametrize("format", ["mermaid", "svg"])
@pytest.mark.parametrize(
    ("pattern", "evaluation"), [("SEQ(A a, B b)", "nfa_b"), ("AND(A a, B b)", "lazy_chain")]
)
def test_there_is_no_automaton_of_what_nothing_compiled_runs(
    format: str, pattern: str, evaluation: str
) -> None:
    query = cep.query(f"PATTERN {pattern} WHERE concat(a.x, b.x) = 'p'")
    texts = {name: {"x": "string"} for name in "AB"}
    with pytest.raises(cep.EvaluationError, match=f"{evaluation} cannot run .*concat of a string"):
        query.automaton(format, schema=texts)


def test_there_are_two_formats() -> None:
    with pytest.raises(cep.OptionError, match="no format 'png'; it has mermaid and svg"):
        cep.query("PATTERN A a").automaton("png")


def test_a_schema_is_checked() -> None:
    query = cep.query("PATTERN A a WHERE a.x = 1")
    assert query.automaton("svg", schema={"A": ["x"]}) == query.automaton("svg")
    with pytest.raises(cep.QuerySemanticError, match="no attribute 'x'"):
        query.automaton("svg", schema={"A": ["y"]})


@pytest.mark.parametrize("name", ["stock-trend", "theft"])
def test_the_pictures_of_the_documentation_are_up_to_date(name: str) -> None:
    query = IMAGES / f"{name}.sase"
    page = (IMAGES.parent / "explanation/automata.md").read_text(encoding="utf-8")
    assert f"```sase {query.name}\n{query.read_text(encoding='utf-8')}```" in page
    picture = query.with_suffix(".svg").read_text(encoding="utf-8")
    assert picture == cep.read_query(query).automaton("svg")


def test_the_picture_of_a_chain_is_up_to_date() -> None:
    page = (IMAGES.parent / "explanation/evaluation.md").read_text(encoding="utf-8")
    text = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 100"
    assert f'rare = cep.query("{text}")' in page
    drawing = cep.query(text).automaton("svg", statistics={"A": 250, "B": 250, "C": 1})
    assert (IMAGES / "lazy-chain.svg").read_text(encoding="utf-8") == drawing


def test_a_chain_has_its_states_in_the_order_of_frequency() -> None:
    query = cep.query("PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 5")
    rarest_last = {"A": 9, "B": 3, "C": 1}
    drawing = ET.fromstring(query.automaton("svg", statistics=rarest_last))
    shown = words(drawing)
    assert [word for word in shown if word in ("a", "b", "c", "F")] == ["c", "b", "a", "F"]
    assert shown.count("store") == 2
    assert "b ∈ B ∧ b before c ∧ within 5" in shown
    assert "a ∈ A ∧ a before b ∧ a.x < b.x ∧ within 5" in shown
    chart = query.automaton("mermaid", evaluation="lazy_chain", statistics=rarest_last)
    assert 's1_0 -.->|"store"| s1_0' in chart


def test_conjunctions_are_drawn_as_chains() -> None:
    shown = words(drawn("PATTERN AND(A a, SEQ(B b, ~(N n), C{2,3} c[])) WHERE [id] AND a.x = n.x"))
    assert "b ∈ B ∧ b.id = a.id" in shown
    assert "c[i] ∈ C ∧ c[i].id = a.id ∧ b before c ∧ c.LEN >= 2 ∧ c.LEN <= 3" in shown
    assert "n ∈ N ∧ between b and c ∧ n.id = a.id ∧ a.x = n.x" in shown
    assert "alternative 2: SEQ(C c, D d)" in words(
        drawn("PATTERN OR(AND(A a, B b), SEQ(C c, D d))")
    )


def test_a_chain_needs_statistics_of_all_types_or_none() -> None:
    query = cep.query("PATTERN AND(A a, B b)")
    with pytest.raises(cep.OptionError, match="how many events of B"):
        query.automaton("svg", statistics={"A": 1})
    with pytest.raises(cep.OptionError, match="is a number of 0 or more"):
        query.automaton("svg", statistics={"A": "many", "B": 1})
    with pytest.raises(cep.EvaluationError, match="nfa_b cannot run this query"):
        query.automaton("svg", evaluation="nfa_b")
    with pytest.raises(cep.OptionError, match="no drawing of an automaton of 'reference'"):
        query.automaton("svg", evaluation="reference")


@pytest.mark.parametrize("name", ["stacks", "stacks-by-id"])
def test_the_pictures_of_stacks_are_up_to_date(name: str) -> None:
    query, events = IMAGES / f"{name}.sase", IMAGES / "stacks.csv"
    page = (IMAGES.parent / "explanation/evaluation.md").read_text(encoding="utf-8")
    assert f"```sase {query.name}\n{query.read_text(encoding='utf-8')}```" in page
    assert f"```csv {events.name}\n{events.read_text(encoding='utf-8')}```" in page
    picture = query.with_suffix(".svg").read_text(encoding="utf-8")
    assert picture == cep.read_query(query).stacks(events)


def test_the_picture_of_a_buffer_is_up_to_date() -> None:
    query, events = IMAGES / "buffer.sase", IMAGES / "stacks.csv"
    page = (IMAGES.parent / "explanation/evaluation.md").read_text(encoding="utf-8")
    assert f"```sase {query.name}\n{query.read_text(encoding='utf-8')}```" in page
    picture = query.with_suffix(".svg").read_text(encoding="utf-8")
    assert picture == cep.read_query(query).buffer(events)


def test_chains_of_alternatives_are_merged_where_they_are_alike() -> None:
    query = cep.query(
        "PATTERN OR(SEQ(A a, B b, C c), SEQ(A d, B e, D f), SEQ(A g, E h)) "
        "WHERE b.x > a.x AND e.x > d.x WITHIN 9"
    )
    shown = words(ET.fromstring(query.automaton("svg", evaluation="lazy_chain")))
    headings = [word for word in shown if word.startswith("alternative")]
    assert headings == [
        "alternatives 1, 2, 3: SEQ(A a, B b, C c), SEQ(A d, B e, D f), SEQ(A g, E h)"
    ]
    # What the first two have in common is there once, and all three begin with an A.
    assert [word for word in shown if word in ("∅", "a", "a b", "F1", "F2", "F3")] == [
        "∅", "a", "a b", "F1", "F2", "F3",
    ]  # fmt: skip
    assert shown.count("b ∈ B ∧ a before b ∧ b.x > a.x ∧ within 9") == 1
    chart = query.automaton("mermaid", evaluation="lazy_chain")
    arrows = re.findall(r'^ +s1_(\d) --->\|"take"\| s1_(\d)$', chart, re.MULTILINE)
    assert arrows == [("0", "1"), ("1", "2"), ("1", "5"), ("2", "3"), ("2", "4")]


def test_an_alternative_can_end_where_another_goes_on() -> None:
    query = cep.query("PATTERN SEQ(A a, B* b[]) WITHIN 9")
    shown = words(ET.fromstring(query.automaton("svg", evaluation="lazy_chain")))
    assert [word for word in shown if word in ("∅", "a", "F1", "F2")] == ["∅", "a", "F1", "F2"]
    assert shown.count("a ∈ A") == 2


def test_alternatives_without_a_common_component_are_drawn_apart() -> None:
    query = cep.query("PATTERN OR(SEQ(A a, B b), SEQ(A a, C c), SEQ(D d, E e)) WITHIN 9")
    shown = words(ET.fromstring(query.automaton("svg", evaluation="lazy_chain")))
    assert [word for word in shown if word.startswith("alternative")] == [
        "alternatives 1, 2: SEQ(A a, B b), SEQ(A a, C c)",
        "alternative 3: SEQ(D d, E e)",
    ]


# --- negative states of lazy chains

ABSENT = "PATTERN SEQ(A a, ~(B b), C c, ~(D d)) WHERE [k] WITHIN 10"


def test_a_lazy_chain_passes_a_negative_state_without_an_event() -> None:
    chart = cep.query(ABSENT).automaton("mermaid", evaluation="lazy_chain")
    arrows = re.findall(r'^ +s1_(\S+) \S+\|"(\w+)"\| s1_(\S+)$', chart, re.MULTILINE)
    # a, c, ¬b, ¬d, F: what is between a and c is known with c, and what follows is not.
    assert arrows == [
        ("0", "take", "1"),
        ("0", "store", "0"),
        ("1", "take", "2"),
        ("2", "take", "R"),
        ("2", "search_failed", "3"),
        ("3", "take", "R"),
        ("3", "timeout", "4"),
    ]
    for formula in (
        "θ_¬b_take = b ∈ B ∧ between a and c ∧ b.k = a.k<br/>",
        "θ_¬b_search_failed = no such event is stored<br/>",
        "θ_¬d_take = d ∈ D ∧ after c ∧ d.k = a.k ∧ within 10<br/>",
        "θ_¬d_timeout = the window has passed",
    ):
        assert formula in chart


def test_a_picture_of_a_lazy_chain_has_negative_states() -> None:
    drawing = ET.fromstring(cep.query(ABSENT).automaton("svg", evaluation="lazy_chain"))
    shown = words(drawing)
    assert [shown.count(state) for state in ("¬b", "¬d", "F", "R")] == [1, 1, 1, 2]
    styles = [path.get("class") for path in drawing.iter(f"{SVG}path")]
    # One in the automaton and one beside the formula.
    assert styles.count("search_failed") == styles.count("timeout") == 2


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        # It needs a and c, and is tested before d is bound.
        ("AND(D d, SEQ(A a, ~(B b), C c))", ["c", "a", "¬b", "d", "F"]),
        # It needs all components.
        ("SEQ(A a, ~(B b), C c, D d)", ["c", "a", "d", "¬b", "F"]),
    ],
)
def test_a_negation_is_drawn_where_it_is_tested(pattern: str, expected: list[str]) -> None:
    query, statistics = cep.query(f"PATTERN {pattern} WITHIN 10"), {"A": 2, "C": 1, "D": 100}
    chart = query.automaton("mermaid", evaluation="lazy_chain", statistics=statistics)
    assert re.findall(r'^ +s1_\d+\(+"(\S+?)"\)+$', chart, re.MULTILINE) == expected


# --- trees

FIGURE_9 = "PATTERN SEQ(E a, E b, E c) WHERE a.x < b.x AND b.x < c.x WITHIN 10"


def test_a_tree_has_a_state_for_each_order() -> None:
    chart = cep.query(FIGURE_9).automaton("mermaid", evaluation="lazy_tree")
    states = dict(re.findall(r'^ +(s1_\d+)\(+"(.+?)"\)+$', chart, re.MULTILINE))
    assert sorted(states.values()) == sorted(
        ["∅", "a", "b", "c", "a b", "a c", "b a", "b c", "c a", "c b", "F"]
    )
    arrows = re.findall(r'^ +(s1_\d+) --->\|"take"\| (s1_\d+)$', chart, re.MULTILINE)
    leads = {(states[source], states[target]) for source, target in arrows}
    assert len(arrows) == len(leads) == 3 + 6 + 6
    assert {target for source, target in leads if source == "∅"} == {"a", "b", "c"}
    assert {target for source, target in leads if source == "c"} == {"c a", "c b"}
    assert {source for source, target in leads if target == "F"} == {
        name for name in states.values() if " " in name
    }
    assert "θ_c_take_b = b ∈ E ∧ b before c ∧ b.x #60; c.x ∧ within 10 ∧ b is rarest<br/>" in chart
    assert "θ_c b_take_a = a ∈ E ∧ a before b ∧ a.x #60; b.x ∧ within 10" in chart


def test_the_states_of_a_tree_do_not_overlap() -> None:
    text = "PATTERN AND(A a, B b, C c, ~(N n), D d) WITHIN 10"
    drawing = ET.fromstring(cep.query(text).automaton("svg", evaluation="lazy_tree"))
    assert "no n" in words(drawing)
    shapes = [
        *((each.get("cx"), each.get("cy")) for each in drawing.iter(f"{SVG}circle")),
        *((each.get("x"), each.get("y")) for each in drawing.iter(f"{SVG}rect") if each.get("rx")),
    ]
    # 1 + 4 + 12 + 24 orders, and the final state, which has two lines.
    assert len(shapes) == 42 + 1
    assert len(set(shapes)) >= 42


def test_a_tree_of_one_component_is_a_chain() -> None:
    shown = words(ET.fromstring(cep.query("PATTERN A a").automaton("svg", evaluation="lazy_tree")))
    assert "θ_∅_take_a" in shown


def test_a_tree_with_too_many_states_is_refused() -> None:
    query = cep.query("PATTERN AND(A a, B b, C c, D d, E e)")
    with pytest.raises(cep.OptionError, match="a tree of 5 components has too many states"):
        query.automaton("svg", evaluation="lazy_tree")
