"""Every query that a paper prints parses, and means what the paper says that it means."""

from fractions import Fraction

import pytest
from paper_queries import PAPER_QUERIES

from cepheid.language import syntax as ast
from cepheid.language.parser import parse
from cepheid.language.syntax import SelectionStrategy, WindowMeasure

HOURS = {number: ast.Window(Fraction(number), unit="hours") for number in (1, 3, 4, 12)}


def paper(name):
    return parse(PAPER_QUERIES[name])


def single(type_name, variable):
    return ast.Component((type_name,), variable)


def kleene(type_name, variable):
    return ast.Component((type_name,), variable, ast.Bounds(1, None))


def conjuncts(query):
    return query.condition.operands


@pytest.mark.parametrize("text", PAPER_QUERIES.values(), ids=PAPER_QUERIES)
def test_it_parses(text):
    parse(text)


# --- Agrawal08 ----------------------------------------------------------------------------


def test_agrawal08_query_1():
    assert paper("Agrawal08 query 1") == ast.Query(
        ast.Sequence(
            (single("Shelf", "a"), ast.Negation(single("Register", "b")), single("Exit", "c"))
        ),
        SelectionStrategy.SKIP_TILL_NEXT_MATCH,
        ("a", "b", "c"),
        ast.And(
            (
                ast.Comparison("=", ast.Attribute("a", "tag_id"), ast.Attribute("b", "tag_id")),
                ast.Comparison("=", ast.Attribute("a", "tag_id"), ast.Attribute("c", "tag_id")),
            )
        ),
        HOURS[12],
    )


def test_agrawal08_query_2():
    assert paper("Agrawal08 query 2") == ast.Query(
        ast.Sequence((single("Alert", "a"), kleene("Shipment", "b"))),
        SelectionStrategy.SKIP_TILL_ANY_MATCH,
        ("a", "b"),
        ast.And(
            (
                ast.Comparison("=", ast.Attribute("a", "type"), ast.Literal("contaminated")),
                ast.Comparison("=", ast.Element("b", 1, "from"), ast.Attribute("a", "site")),
                ast.Comparison(
                    "=",
                    ast.Element("b", ast.Index.CURRENT, "from"),
                    ast.Element("b", ast.Index.PREVIOUS, "to"),
                ),
            )
        ),
        HOURS[3],
    )


def test_agrawal08_query_3():
    assert paper("Agrawal08 query 3") == ast.Query(
        ast.Sequence((kleene("Stock", "a"), single("Stock", "b"))),
        SelectionStrategy.SKIP_TILL_NEXT_MATCH,
        ("a", "b"),
        ast.And(
            (
                ast.Equivalence("symbol"),
                ast.Comparison(">", ast.Element("a", 1, "volume"), ast.Literal(1000)),
                ast.Comparison(
                    ">",
                    ast.Element("a", ast.Index.CURRENT, "price"),
                    ast.Aggregate("avg", "a", ast.Scope.PRIOR, "price"),
                ),
                ast.Comparison(
                    "<",
                    ast.Attribute("b", "volume"),
                    ast.Arithmetic(
                        "*", ast.Literal(0.8), ast.Element("a", ast.Index.LAST, "volume")
                    ),
                ),
            )
        ),
        HOURS[1],
    )


def test_agrawal08_query_3_2_differs_in_one_condition():
    *rest, changed, last = conjuncts(paper("Agrawal08 query 3.2"))
    *same, _, same_last = conjuncts(paper("Agrawal08 query 3"))
    assert (rest, last) == (same, same_last)
    assert changed == ast.Comparison(
        ">=",
        ast.Element("a", ast.Index.CURRENT, "price"),
        ast.Aggregate("max", "a", ast.Scope.PRIOR, "price"),
    )


def test_agrawal08_len_with_and_without_its_variable_is_the_same():
    by_partition = paper("Agrawal08 slides, Q1 by partition")
    by_next_match = paper("Agrawal08 slides, Q1 by next match")
    assert by_partition.strategy is SelectionStrategy.PARTITION_CONTIGUITY
    assert by_partition.condition == by_next_match.condition
    assert by_partition.stream == "InputStream"


def test_agrawal08_slides_query_without_a_strategy_skips_till_any_match():
    query = paper("Agrawal08 slides, Q1")
    assert query.strategy is SelectionStrategy.SKIP_TILL_ANY_MATCH
    assert query.strategy_variables is None


def test_agrawal08_slides_query_2_returns_attributes_and_a_list():
    assert paper("Agrawal08 slides, Q2").returns == ast.Return(
        (
            ast.ReturnItem(ast.Attribute("a", "type")),
            ast.ReturnItem(ast.Attribute("a", "site")),
            ast.ReturnItem(ast.Elements("b", "to")),
        )
    )


@pytest.mark.parametrize(
    ("written", "strategy"),
    [
        ("partition-contiguity", SelectionStrategy.PARTITION_CONTIGUITY),
        ("skip-till-next-match", SelectionStrategy.SKIP_TILL_NEXT_MATCH),
    ],
)
def test_agrawal08_template(written, strategy):
    query = paper(f"Agrawal08 template, {written}, True, W")
    assert query == ast.Query(
        ast.Sequence((kleene("stock", "a"), single("stock", "b"))),
        strategy,
        None,
        ast.And(
            (
                ast.Equivalence("symbol"),
                ast.Comparison(
                    "=",
                    ast.Arithmetic("%", ast.Element("a", 1, "price"), ast.Literal(500)),
                    ast.Literal(0),
                ),
                ast.Literal(True),
                ast.Comparison("<", ast.Attribute("b", "volume"), ast.Literal(150)),
            )
        ),
        ast.Window(ast.Parameter("W")),
    )
    of_slides = paper(f"Agrawal08 slides, template, {written}, True, W")
    assert (of_slides.condition, of_slides.strategy) == (query.condition, strategy)


def test_agrawal08_template_with_a_typographic_minus():
    query = paper("Agrawal08 template, partition-contiguity, a[i].price > a[i− 1].price, 500")
    assert conjuncts(query)[2] == ast.Comparison(
        ">",
        ast.Element("a", ast.Index.CURRENT, "price"),
        ast.Element("a", ast.Index.PREVIOUS, "price"),
    )
    assert query.window == ast.Window(Fraction(500))


def test_agrawal08_template_with_a_window_of_events():
    query = paper("Agrawal08 template, skip-till-next-match, True, 2000 events")
    assert query.window == ast.Window(Fraction(2000), WindowMeasure.EVENTS)


def test_agrawal08_template_of_three_components_has_no_seq():
    query = paper("Agrawal08 template with c, skip-till-next-match")
    assert query.pattern == ast.Sequence(
        (kleene("stock", "a"), single("stock", "b"), single("stock", "c"))
    )
    assert conjuncts(query)[-1].right == ast.Element("a", ast.Index.LAST, "price")


def test_agrawal08_a_window_as_a_condition():
    """The formulas of Figure 2 add a duration to a time."""
    query = parse("PATTERN SEQ(Stock+ a[], Stock b) WHERE b.time<a[1].time+1 hour")
    assert query.condition == ast.Comparison(
        "<",
        ast.Attribute("b", "time"),
        ast.Arithmetic("+", ast.Element("a", 1, "time"), ast.Duration(Fraction(1), "hours")),
    )


# --- Wu06 ---------------------------------------------------------------------------------


def test_wu06_q1_has_bare_attributes():
    variable = "SHELF-READING"
    assert paper("Wu06 Q1") == ast.Query(
        single("SHELF-READING", variable),
        condition=ast.And(
            (
                ast.Comparison("=", ast.Attribute(variable, "category"), ast.Literal("food")),
                ast.Comparison("=", ast.Attribute(variable, "manufacturer_id"), ast.Literal("1")),
            )
        ),
    )


def test_wu06_q2():
    assert paper("Wu06 Q2") == ast.Query(
        ast.Sequence(
            (
                single("SHELF-READING", "x"),
                ast.Negation(single("COUNTER-READING", "y")),
                single("EXIT-READING", "z"),
            )
        ),
        condition=ast.And(
            (
                ast.Comparison("=", ast.Attribute("x", "id"), ast.Attribute("y", "id")),
                ast.Comparison("=", ast.Attribute("x", "id"), ast.Attribute("z", "id")),
            )
        ),
        window=HOURS[12],
    )


def test_wu06_misplaced_inventory_negates_any_of_two_types():
    query = paper("Wu06 misplaced inventory")
    assert query.pattern.parts[2] == ast.Negation(
        ast.Component(("COUNTER-READING", "SHELF-READING"), "z")
    )
    assert conjuncts(query)[:2] == (
        ast.Equivalence("id"),
        ast.Comparison("!=", ast.Attribute("x", "shelf_id"), ast.Attribute("y", "shelf_id")),
    )


def test_wu06_overdose_has_equivalence_tests_with_values():
    query = paper("Wu06 overdose")
    assert conjuncts(query) == (
        ast.Equivalence("name", ast.Literal("John")),
        ast.Equivalence("medicine", ast.Literal("Antibiotics")),
        ast.Comparison(
            ">",
            ast.Arithmetic("+", ast.Attribute("x", "amount"), ast.Attribute("y", "amount")),
            ast.Literal(1000),
        ),
    )
    assert query.window == HOURS[4]


def test_wu06_q3_tests_two_attributes_in_one_pair_of_brackets():
    query = paper("Wu06 Q3")
    assert conjuncts(query)[:2] == (ast.Equivalence("attr1"), ast.Equivalence("attr2"))
    assert query.window == ast.Window(ast.Parameter("T"))


def test_wu06_components_without_variables_are_named_by_their_types():
    query = paper("Wu06 negation without brackets")
    assert query.pattern == ast.Sequence(
        (single("A", "A"), single("B", "B"), ast.Negation(single("C", "C")), single("D", "D"))
    )
    assert paper("Wu06 any inside").pattern.parts[1] == ast.Component(("A21", "A22", "A23"), "ANY")


# --- Kolchinsky17 -------------------------------------------------------------------------


def test_kolchinsky17_1_compares_with_a_threshold_that_is_given_later():
    query = paper("Kolchinsky17 (1)")
    assert conjuncts(query)[0] == ast.Comparison(
        ">", ast.Attribute("a", "price"), ast.Parameter("T")
    )
    assert query.window == HOURS[1]


def test_kolchinsky17_2_and_3_are_conjunctions():
    a, b, c, d, e = (single(name, name.lower()) for name in "ABCDE")
    assert paper("Kolchinsky17 (2)").pattern == ast.Conjunction((a, b, c))
    assert paper("Kolchinsky17 (3)").pattern == ast.Conjunction(
        (ast.Sequence((a, b)), ast.Sequence((c, d)), e)
    )


def test_kolchinsky17_4_negates_by_a_word():
    assert paper("Kolchinsky17 (4)").pattern.parts[1] == ast.Negation(single("B", "b"))


def test_kolchinsky17_6_aggregates_over_all_events():
    assert paper("Kolchinsky17 (6)").condition == ast.Comparison(
        "<", ast.Aggregate("avg", "b", ast.Scope.WHOLE, "x"), ast.Attribute("c", "y")
    )


def test_kolchinsky17_7_has_spaces_around_indices():
    assert paper("Kolchinsky17 (7)").condition == ast.Comparison(
        "=",
        ast.Element("b", ast.Index.CURRENT, "x"),
        ast.Element("b", ast.Index.PREVIOUS, "x"),
    )


def test_kolchinsky17_8_and_9_are_disjunctions():
    a, b, c, d, e = (single(name, name.lower()) for name in "ABCDE")
    assert paper("Kolchinsky17 (8)").pattern == ast.Disjunction(
        (ast.Sequence((a, b, c)), ast.Sequence((c, d, e)))
    )
    assert paper("Kolchinsky17 (9)").pattern == ast.Sequence((a, ast.Disjunction((b, c)), d))


def test_kolchinsky17_10_compares_with_bare_names():
    assert conjuncts(paper("Kolchinsky17 (10)"))[0] == ast.Comparison(
        "=", ast.Attribute("a", "ticker"), ast.Parameter("MSFT")
    )


def test_kolchinsky17_11_calls_a_function_and_leaves_its_window_open():
    query = paper("Kolchinsky17 (11)")
    assert conjuncts(query)[0].left == ast.Call(
        "Corr", (ast.Attribute("a", "history"), ast.Attribute("b", "history"))
    )
    assert query.window == ast.Window(ast.Parameter("h"))


# --- Zhang10 ------------------------------------------------------------------------------


def test_zhang10_query_1_has_its_strategy_among_the_conditions():
    query = paper("Zhang10 query 1")
    assert query.strategy is SelectionStrategy.SKIP_TILL_ANY_MATCH
    assert query.strategy_variables == ("a", "b", "c", "d")
    assert len(conjuncts(query)) == 5
    assert conjuncts(query)[3:] == (
        ast.Comparison(">", ast.Attribute("b", "value"), ast.Literal(0.95)),
        ast.Comparison("<=", ast.Attribute("d", "value"), ast.Literal(0.7)),
    )
    assert query.window == ast.Window(Fraction(15), unit="seconds")
    assert query.returns == ast.Return(
        tuple(ast.ReturnItem(ast.EventReference(variable)) for variable in "abc")
    )


def test_zhang10_figure_1():
    assert paper("Zhang10 figure 1") == ast.Query(
        ast.Sequence(tuple(single(name, name) for name in "ABC")),
        window=ast.Window(Fraction(4), unit="seconds"),
    )


def test_zhang10_template_tests_remainders():
    query = paper("Zhang10 template, skip till next match")
    assert query.strategy is SelectionStrategy.SKIP_TILL_NEXT_MATCH
    assert conjuncts(query)[1] == ast.Comparison(
        "=", ast.Arithmetic("%", ast.Attribute("E2", "value"), ast.Literal(5)), ast.Literal(0)
    )
