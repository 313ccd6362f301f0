"""Every construct of the language: which syntax tree its text is."""

from fractions import Fraction

import pytest

import cepheid as cep
from cepheid.aggregates import AGGREGATES, COUNT_DISTINCT
from cepheid.language import syntax as ast
from cepheid.language.parser import parse, parse_script
from cepheid.language.printer import print_query
from cepheid.language.syntax import SelectionStrategy, WindowMeasure

X, Y, Z = (ast.Attribute("a", name) for name in "xyz")


def pattern(text):
    return parse(f"PATTERN {text}").pattern


def condition(text):
    return parse(f"PATTERN SEQ(A a, B+ b[], C c) WHERE {text}").condition


def value(text):
    """The tree of an expression, which is compared with 1 so that it stands in a condition."""
    comparison = condition(f"{text} = 1")
    assert comparison.operator == "="
    assert comparison.right == ast.Literal(1)
    return comparison.left


def window(text):
    return parse(f"PATTERN A a WITHIN {text}").window


def returned(text):
    return parse(f"PATTERN SEQ(A a, B+ b[]) RETURN {text}").returns


def test_the_smallest_query():
    assert parse("EVENT A") == ast.Query(ast.Component(("A",), "A"))


def test_all_clauses():
    query = parse("FROM s PATTERN A a WHERE a.x = 1 WITHIN 10 RETURN a.x")
    assert query == ast.Query(
        ast.Component(("A",), "a"),
        condition=ast.Comparison("=", X, ast.Literal(1)),
        window=ast.Window(Fraction(10)),
        returns=ast.Return((ast.ReturnItem(X),)),
        stream="s",
    )


@pytest.mark.parametrize("change", [str.upper, str.lower, str.title, str.swapcase])
def test_keywords_are_written_in_any_case(change):
    words = "from pattern seq any not where and or in between like is null true within return as"
    spelt = {word: change(word) for word in words.split()}
    text = (
        "{from} s {pattern} {seq}(A a, {any}(B, C) b, {not}(D d)) {where} a.x = 1 {and} (a.y "
        "{in} (1) {or} a.y {between} 1 {and} 2) {and} {not} a.x {like} 'x' {and} a.x {is} {null} "
        "{and} a.x = {true} {within} 1 hour {return} a.x {as} x"
    )
    assert parse(text.format(**spelt)) == parse(text.format(**{word: word for word in spelt}))


def test_names_differ_by_case():
    assert pattern("SEQ(A a, a A)") == ast.Sequence(
        (ast.Component(("A",), "a"), ast.Component(("a",), "A"))
    )


def test_comments_and_line_ends_are_white_space():
    plain = parse("PATTERN SEQ(A a, B b) WHERE a.x = 5 % b.x")
    assert (
        parse("PATTERN/**/SEQ/* ( */(A a, -- the first )\r\nB b)\tWHERE a.x = 5 % /* 7 */ b.x")
        == plain
    )
    assert parse("-- one\n-- two\nPATTERN SEQ(A a, B b) WHERE a.x = 5 % -- seven\n b.x --") == plain
    assert parse("PATTERN SEQ(A a, B b) /** * / **/ WHERE a.x = 5\u00a0%\u2028b.x") == plain


def test_a_ruler_of_dashes_is_a_comment():
    assert parse("-" * 500 + "\nEVENT A") == parse("EVENT A")


# --- Names --------------------------------------------------------------------------------


def test_names_in_backticks():
    query = parse("FROM `my stream` PATTERN `order-line` `a b` WHERE `a b`.`unit price` > 1")
    assert query.stream == "my stream"
    assert query.pattern == ast.Component(("order-line",), "a b")
    assert query.condition.left == ast.Attribute("a b", "unit price")


def test_names_in_other_alphabets():
    assert parse("EVENT 注文 β WHERE β.größe = 1").condition.left == ast.Attribute("β", "größe")


def test_a_name_that_only_looks_like_a_keyword_is_a_name():
    # Without regard for case, Python holds that ſ is an s and ı an i.
    assert pattern("ſeq ıs") == ast.Component(("ſeq",), "ıs")


@pytest.mark.parametrize(
    "name", ["from", "to", "where", "within", "return", "and", "or", "not", "in", "is", "events"]
)
def test_after_a_dot_every_word_is_a_name(name):
    assert value(f"a.{name}") == ast.Attribute("a", name)
    assert value(f"b[1].{name}") == ast.Element("b", 1, name)
    assert value(f"max(b[].{name})") == ast.Aggregate("max", "b", ast.Scope.WHOLE, name)


@pytest.mark.parametrize("name", ["Event", "Pattern", "Seq", "Any", "From", "Where", "In", "Is"])
def test_types_are_called_like_keywords(name):
    assert parse(f"EVENT {name} e").pattern == ast.Component((name,), "e")
    assert parse(f"EVENT SEQ({name} e, B b)").pattern.parts[0] == ast.Component((name,), "e")


def test_type_names_have_dashes():
    assert pattern("SHELF-READING x") == ast.Component(("SHELF-READING",), "x")
    assert pattern("SHELF - READING-2 x") == ast.Component(("SHELF-READING-2",), "x")
    assert pattern("ANY(A-B, C-D)") == ast.Component(("A-B", "C-D"), "ANY")


def test_components_without_a_variable_are_called_like_their_type():
    named = [c.variable for c, _ in ast.components(pattern("SEQ(A, A, A_3 x, A, ANY(B, C), B)"))]
    assert named == ["A", "A_2", "x", "A_3", "ANY", "B"]


def test_a_number_that_is_taken_is_left_out():
    named = [c.variable for c, _ in ast.components(pattern("SEQ(A, B A_2, A)"))]
    assert named == ["A", "A_2", "A_3"]


def test_a_type_is_not_the_variable_that_another_component_has():
    named = [c.variable for c, _ in ast.components(pattern("SEQ(A, B A)"))]
    assert named == ["A_2", "A"]


# --- Patterns -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "bounds"),
    [
        ("A+ a[]", ast.Bounds(1, None)),
        ("A + a[ ]", ast.Bounds(1, None)),
        ("A* a[]", ast.Bounds(0, None)),
        ("A{2,5} a[]", ast.Bounds(2, 5)),
        ("A { 2 , 5 } a [\n]", ast.Bounds(2, 5)),
        ("A{2,} a[]", ast.Bounds(2, None)),
        ("A{3} a[]", ast.Bounds(3, 3)),
        ("A{0,1} a[]", ast.Bounds(0, 1)),
    ],
)
def test_kleene_components(written, bounds):
    assert pattern(written) == ast.Component(("A",), "a", bounds)


def test_a_kleene_component_of_any_type():
    assert pattern("ANY(A, B)+ a[]") == ast.Component(("A", "B"), "a", ast.Bounds(1, None))
    assert pattern("A+") == ast.Component(("A",), "A", ast.Bounds(1, None))


def test_any_of_one_type_is_that_type():
    assert pattern("ANY(A) a") == ast.Component(("A",), "a")


@pytest.mark.parametrize("sign", ["~", "∼", "˜", "!", "NOT ", "not"])
@pytest.mark.parametrize("component", ["(B b)", " B b", " (  B b )"])
def test_negations(sign, component):
    negation = pattern(f"SEQ(A a, {sign}{component})").parts[1]
    assert negation == ast.Negation(ast.Component(("B",), "b"))


def test_operators_nest():
    a, b, c, d = (ast.Component((name,), name) for name in "ABCD")
    assert pattern("AND(SEQ(A, B), OR(C, SEQ(D)))") == ast.Conjunction(
        (ast.Sequence((a, b)), ast.Disjunction((c, ast.Sequence((d,)))))
    )


def test_brackets_without_an_operator_are_a_sequence():
    assert pattern("(A a, B b)") == pattern("SEQ(A a, B b)")
    assert pattern("(A a)") == pattern("A a")


# --- Selection strategies -----------------------------------------------------------------


@pytest.mark.parametrize("strategy", SelectionStrategy)
@pytest.mark.parametrize(
    "respell",
    [
        str,
        str.upper,
        lambda name: name.replace("_", " "),
        lambda name: name.replace("_", "-"),
        lambda name: name.replace("_", "\n\t"),
        lambda name: name.replace("_", "\u00a0"),
    ],
)
def test_the_ways_to_write_a_strategy(strategy, respell):
    name = respell(strategy.value)
    one = ast.Comparison("=", X, ast.Literal(1))
    two = ast.Comparison("=", Y, ast.Literal(2))
    for where, variables, expected in [
        (f"{name} {{ a.x = 1 }}", None, one),
        (f"{name}(a, b[]) {{ a.x = 1 }}", ("a", "b"), one),
        (f"{name} {{ a.x = 1 AND a.y = 2 }}", None, ast.And((one, two))),
        (f"a.x = 1 AND {name}(a, b) AND a.y = 2", ("a", "b"), ast.And((one, two))),
        (f"{name} {{ a.x = 1 }} AND a.y = 2", None, ast.And((one, two))),
        (f"{name} {{ }}", None, None),
        (name, None, None),
        (f"({name}) AND a.x = 1", None, one),
    ]:
        query = parse(f"PATTERN SEQ(A a, B b) WHERE {where}")
        assert (query.strategy, query.strategy_variables) == (strategy, variables)
        assert query.condition == expected


def test_without_a_strategy_every_match_is_selected():
    query = parse("PATTERN A a WHERE a.x = 1")
    assert query.strategy is SelectionStrategy.SKIP_TILL_ANY_MATCH
    assert query.strategy_variables is None


# --- Conditions ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "operator"),
    [
        ("=", "="), ("==", "="), ("!=", "!="), ("<>", "!="), ("≠", "!="), ("<", "<"),
        ("<=", "<="), ("≤", "<="), (">", ">"), (">=", ">="), ("≥", ">="),
    ],
)  # fmt: skip
def test_comparisons(written, operator):
    assert condition(f"a.x{written}a.y") == ast.Comparison(operator, X, Y)


@pytest.mark.parametrize("sign", ["and", "∧", "&&"])
def test_signs_for_and(sign):
    assert condition(f"a.x {sign} a.y {sign} a.z") == ast.And((X, Y, Z))


@pytest.mark.parametrize("sign", ["or", "∨", "||"])
def test_signs_for_or(sign):
    assert condition(f"a.x {sign} a.y {sign} a.z") == ast.Or((X, Y, Z))


@pytest.mark.parametrize("sign", ["not ", "¬", "!", "! "])
def test_signs_for_not(sign):
    assert condition(f"{sign}a.x") == ast.Not(X)
    assert condition(f"{sign}{sign}(a.x)") == ast.Not(ast.Not(X))


def test_not_binds_tighter_than_and_which_binds_tighter_than_or():
    assert condition("not a.x and a.y or a.z") == ast.Or((ast.And((ast.Not(X), Y)), Z))
    assert condition("a.x or a.y and not a.z") == ast.Or((X, ast.And((Y, ast.Not(Z)))))
    assert condition("a.x and (a.y or a.z)") == ast.And((X, ast.Or((Y, Z))))
    assert condition("not (a.x and a.y)") == ast.Not(ast.And((X, Y)))


def test_not_is_of_the_whole_comparison():
    assert condition("not a.x = a.y") == ast.Not(ast.Comparison("=", X, Y))


def test_and_in_and_is_one_and():
    assert condition("a.x and (a.y and a.z)") == ast.And((X, Y, Z))
    assert condition("(a.x or a.y) or a.z") == ast.Or((X, Y, Z))
    assert condition("[u, v] and a.x") == ast.And((ast.Equivalence("u"), ast.Equivalence("v"), X))


def test_in():
    options = (ast.Literal(1), ast.Arithmetic("+", Y, ast.Literal(2)))
    assert condition("a.x IN (1, a.y + 2)") == ast.In(X, options)
    assert condition("a.x NOT IN (1, a.y + 2)") == ast.Not(ast.In(X, options))


def test_between_takes_the_first_and():
    between = ast.Between(X, ast.Literal(1), ast.Arithmetic("+", Y, ast.Literal(2)))
    assert condition("a.x BETWEEN 1 AND a.y + 2 AND a.z") == ast.And((between, Z))
    assert condition("a.x NOT BETWEEN 1 AND a.y + 2") == ast.Not(between)


def test_like():
    assert condition("a.x LIKE 'a%_'") == ast.Like(X, "a%_")
    assert condition("a.x NOT LIKE 'it''s'") == ast.Not(ast.Like(X, "it's"))


def test_null():
    assert condition("a.x IS NULL") == ast.IsNull(X)
    assert condition("a.x IS NOT NULL") == ast.Not(ast.IsNull(X))
    assert condition("a.x = NULL") == ast.Comparison("=", X, ast.Literal(None))


@pytest.mark.parametrize(
    ("written", "tests"),
    [
        ("[id]", [ast.Equivalence("id")]),
        ("[id, site]", [ast.Equivalence("id"), ast.Equivalence("site")]),
        ("[id='7']", [ast.Equivalence("id", ast.Literal("7"))]),
        ("[id == -7, on = TRUE]",
         [ast.Equivalence("id", ast.Literal(-7)), ast.Equivalence("on", ast.Literal(True))]),
        ("[share = 80%]", [ast.Equivalence("share", ast.Literal(0.8))]),
        ("[`tag id`]", [ast.Equivalence("tag id")]),
    ],
)  # fmt: skip
def test_equivalences(written, tests):
    assert condition(written) == (ast.And(tuple(tests)) if len(tests) > 1 else tests[0])


# --- Expressions --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "node"),
    [
        ("7", 7), ("007", 7), ("7.5", 7.5), (".5", 0.5), ("1e3", 1000.0), ("2.5E-1", 0.25),
        ("-7", -7), ("−7", -7), ("- 7.5", -7.5), ("+7", 7), ("-(7)", -7), ("--\n7", 7),
        ("9223372036854775807", 2**63 - 1), ("-9223372036854775807", -(2**63) + 1),
        ("TRUE", True), ("false", False), ("Null", None),
        ("'a'", "a"), ('"a"', "a"), ("‘a’", "a"), ("“a”", "a"), ("’a’", "a"),
        ("'it''s'", "it's"), ('"6"" pipe"', '6" pipe'), ("''", ""), ("'--'", "--"),
        ("'/* no comment */'", "/* no comment */"), ("'two\nlines'", "two\nlines"),
    ],
)  # fmt: skip
def test_literals(written, node):
    literal = value(written)
    assert isinstance(literal, ast.Literal)
    assert literal == ast.Literal(node)


@pytest.mark.parametrize(
    ("written", "node"),
    [
        ("a.x", X),
        ("b[1].x", ast.Element("b", 1, "x")),
        ("b[12].x", ast.Element("b", 12, "x")),
        ("b[i].x", ast.Element("b", ast.Index.CURRENT, "x")),
        ("b[i-1].x", ast.Element("b", ast.Index.PREVIOUS, "x")),
        ("b [ i − 1 ] . x", ast.Element("b", ast.Index.PREVIOUS, "x")),
        ("b[b.LEN].x", ast.Element("b", ast.Index.LAST, "x")),
        ("b[b.len].x", ast.Element("b", ast.Index.LAST, "x")),
        ("b[LEN].x", ast.Element("b", ast.Index.LAST, "x")),
        ("b.LEN", ast.Length("b")),
        ("b.len", ast.Length("b")),
        ("a.LEN", ast.Attribute("a", "LEN")),
        ("b[1].LEN", ast.Element("b", 1, "LEN")),
        ("T", ast.Parameter("T")),
    ],
)
def test_attributes_and_elements(written, node):
    assert value(written) == node


@pytest.mark.parametrize("function", [name for name in AGGREGATES if name != COUNT_DISTINCT])
def test_aggregates(function):
    before = ast.Aggregate(function, "b", ast.Scope.PRIOR, "x")
    whole = ast.Aggregate(function, "b", ast.Scope.WHOLE, "x")
    assert value(f"{function}(b[..i-1].x)") == before
    assert value(f"{function.upper()} ( b[ .. i - 1 ] . x )") == before
    assert value(f"{function}(b[].x)") == whole
    assert value(f"{function}(b[ ].x)") == whole
    assert value(f"{function}(b[i].x)") == whole


def test_count_distinct():
    whole = ast.Aggregate(COUNT_DISTINCT, "b", ast.Scope.WHOLE, "x")
    assert value("count(DISTINCT b[].x)") == value("COUNT( distinct b[].x )") == whole
    assert value("count(distinct)") == ast.Call("count", (ast.Parameter("distinct"),))


def test_count_counts_events():
    assert value("count(b[])") == ast.Aggregate("count", "b", ast.Scope.WHOLE, None)
    assert value("count(b[..i-1])") == ast.Aggregate("count", "b", ast.Scope.PRIOR, None)


def test_calls():
    assert value("ABS(a.x)") == ast.Call("abs", (X,))
    assert value("Corr(a.x, 1 + 2)") == ast.Call(
        "Corr", (X, ast.Arithmetic("+", ast.Literal(1), ast.Literal(2)))
    )
    assert value("now()") == ast.Call("now", ())
    assert value("least(min(b[].x), 1)") == ast.Call(
        "least", (ast.Aggregate("min", "b", ast.Scope.WHOLE, "x"), ast.Literal(1))
    )


def arithmetic(operator, left, right):
    return ast.Arithmetic(operator, left, right)


def test_arithmetic_is_done_from_left_to_right():
    for operator in "+-*/":
        assert value(f"a.x {operator} a.y {operator} a.z") == arithmetic(
            operator, arithmetic(operator, X, Y), Z
        )
    assert value("a.x % a.y % a.z") == arithmetic("%", arithmetic("%", X, Y), Z)
    assert value("a.x - (a.y - a.z)") == arithmetic("-", X, arithmetic("-", Y, Z))
    assert value("a.x − a.y") == arithmetic("-", X, Y)


def test_products_bind_tighter_than_sums_and_signs_bind_tightest():
    assert value("a.x + a.y * a.z") == arithmetic("+", X, arithmetic("*", Y, Z))
    assert value("a.x / a.y - a.z") == arithmetic("-", arithmetic("/", X, Y), Z)
    assert value("(a.x + a.y) * a.z") == arithmetic("*", arithmetic("+", X, Y), Z)
    assert value("-a.x * a.y") == arithmetic("*", ast.Negative(X), Y)
    assert value("a.x * -a.y") == arithmetic("*", X, ast.Negative(Y))
    assert value("a.x - -a.y") == arithmetic("-", X, ast.Negative(Y))
    assert value("+a.x") == X


def test_comparisons_bind_looser_than_arithmetic():
    assert condition("a.x + 1 < a.y * 2") == ast.Comparison(
        "<", arithmetic("+", X, ast.Literal(1)), arithmetic("*", Y, ast.Literal(2))
    )


EIGHTY = ast.Literal(0.8)


@pytest.mark.parametrize(
    ("written", "node"),
    [
        ("a.x < 80%", ast.Comparison("<", X, EIGHTY)),
        ("a.x < 80 %", ast.Comparison("<", X, EIGHTY)),
        ("a.x < .5%", ast.Comparison("<", X, ast.Literal(0.005))),
        ("a.x < 33.3%", ast.Comparison("<", X, ast.Literal(0.333))),
        ("a.x < 7%", ast.Comparison("<", X, ast.Literal(0.07))),
        ("80% < a.x", ast.Comparison("<", EIGHTY, X)),
        ("a.x < 80%*a.y", ast.Comparison("<", X, arithmetic("*", EIGHTY, Y))),
        ("a.x < 80% * a.y", ast.Comparison("<", X, arithmetic("*", EIGHTY, Y))),
        ("a.x < a.y*80%", ast.Comparison("<", X, arithmetic("*", Y, EIGHTY))),
        ("a.x < 80% + 1", ast.Comparison("<", X, arithmetic("+", EIGHTY, ast.Literal(1)))),
        ("a.x < 80%-1", ast.Comparison("<", X, arithmetic("-", EIGHTY, ast.Literal(1)))),
        ("a.x < 80%/* of what? */", ast.Comparison("<", X, EIGHTY)),
        ("a.x < 80%-- of what?", ast.Comparison("<", X, EIGHTY)),
        ("a.x < 80% AND a.y", ast.And((ast.Comparison("<", X, EIGHTY), Y))),
        ("a.x < 80%\nOR a.y", ast.Or((ast.Comparison("<", X, EIGHTY), Y))),
        ("a.x < 80%∧a.y", ast.And((ast.Comparison("<", X, EIGHTY), Y))),
        ("a.x IN (80%, 80%)", ast.In(X, (EIGHTY, EIGHTY))),
        ("a.x BETWEEN 80% AND 80%", ast.Between(X, EIGHTY, EIGHTY)),
        ("80% IS NULL", ast.IsNull(EIGHTY)),
        ("80% IN (1)", ast.In(EIGHTY, (ast.Literal(1),))),
        ("abs(80%)", ast.Call("abs", (EIGHTY,))),
        ("a.x % 80%", arithmetic("%", X, EIGHTY)),
        ("80 % a.x", arithmetic("%", ast.Literal(80), X)),
        ("80%a.x", arithmetic("%", ast.Literal(80), X)),
        ("80 % 7", arithmetic("%", ast.Literal(80), ast.Literal(7))),
        ("80 %7", arithmetic("%", ast.Literal(80), ast.Literal(7))),
        ("80 % .5", arithmetic("%", ast.Literal(80), ast.Literal(0.5))),
        ("80 % (7)", arithmetic("%", ast.Literal(80), ast.Literal(7))),
        ("80 % 'x'", arithmetic("%", ast.Literal(80), ast.Literal("x"))),
        ("80 % android", arithmetic("%", ast.Literal(80), ast.Parameter("android"))),
        ("80 % `and`", arithmetic("%", ast.Literal(80), ast.Parameter("and"))),
        ("80 % /* seven */ 7", arithmetic("%", ast.Literal(80), ast.Literal(7))),
        ("80 % -- seven\n 7", arithmetic("%", ast.Literal(80), ast.Literal(7))),
        ("a.x %500==0",
         ast.Comparison("=", arithmetic("%", X, ast.Literal(500)), ast.Literal(0))),
        ("a.x % -7", arithmetic("%", X, ast.Literal(-7))),
        ("1e2 % 7", arithmetic("%", ast.Literal(100.0), ast.Literal(7))),
    ],
)  # fmt: skip
def test_percentages_and_remainders(written, node):
    assert condition(written) == node


def test_a_percentage_ends_its_clause():
    assert parse("EVENT A WHERE x < 80%").condition.right == EIGHTY
    assert parse("EVENT A WHERE x < 80%.").condition.right == EIGHTY
    assert parse("EVENT A WHERE x < 80%;").condition.right == EIGHTY
    assert parse("EVENT A WHERE x < 80% WITHIN 5").condition.right == EIGHTY
    assert parse("EVENT A RETURN 80% AS share").returns.items[0].expression == EIGHTY
    with_braces = parse("EVENT A WHERE skip_till_any_match {x < 80%} RETURN x")
    assert with_braces.condition.right == EIGHTY


@pytest.mark.parametrize(
    ("written", "amount", "unit"),
    [
        ("1 hour", 1, "hours"), ("90 minutes", 90, "minutes"), ("1.5 days", "1.5", "days"),
        ("0.1 s", "0.1", "seconds"), ("10ms", 10, "milliseconds"), ("3 Weeks", 3, "weeks"),
        ("5 µs", 5, "microseconds"), ("5 μs", 5, "microseconds"), ("1 ns", 1, "nanoseconds"),
        ("7 d", 7, "days"), ("7 h", 7, "hours"), ("7 min", 7, "minutes"), ("7 hrs", 7, "hours"),
    ],
)  # fmt: skip
def test_durations(written, amount, unit):
    duration = ast.Duration(Fraction(amount), unit)
    assert value(f"a.x + {written}") == arithmetic("+", X, duration)
    assert value(f"-{written}") == ast.Negative(duration)
    assert window(written) == ast.Window(duration.amount, unit=unit)


# --- WITH CONFIDENCE ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "least", "is_strict"),
    [
        ("> 0.25", Fraction(1, 4), True),
        (">= 1", Fraction(1), False),
        ("≥ 80%", Fraction(4, 5), False),
        ("> T", Fraction(1, 2), True),
    ],
)
def test_a_confidence_is_a_number_a_percentage_or_a_parameter(text, least, is_strict):
    values = {"T": 0.5} if "T" in text else {}
    query = parse(f"EVENT A WITHIN 5 with\nconfidence {text} RETURN A", parameters=values)
    assert query.confidence == ast.Confidence(least, is_strict)
    assert parse(print_query(query)) == query


def test_a_percentage_may_stand_before_a_confidence():
    query = parse("EVENT A WHERE x < 80% WITH CONFIDENCE > 10%")
    assert query.condition.right == EIGHTY
    assert query.confidence.least == Fraction(1, 10)


# --- WITHIN -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("10", ast.Window(Fraction(10))),
        ("2.5", ast.Window(Fraction(5, 2))),
        ("500 EVENTS", ast.Window(Fraction(500), WindowMeasure.EVENTS)),
        ("1 event", ast.Window(Fraction(1), WindowMeasure.EVENTS)),
        ("500 events per\npartition",
         ast.Window(Fraction(500), WindowMeasure.EVENTS_PER_PARTITION)),
        ("T", ast.Window(ast.Parameter("T"))),
        ("h", ast.Window(ast.Parameter("h"))),
        ("T hours", ast.Window(ast.Parameter("T"), unit="hours")),
        ("n EVENTS", ast.Window(ast.Parameter("n"), WindowMeasure.EVENTS)),
        ("1 hour.", ast.Window(Fraction(1), unit="hours")),
        ("10.", ast.Window(Fraction(10))),
    ],
)  # fmt: skip
def test_windows(written, expected):
    assert window(written) == expected


# --- RETURN -------------------------------------------------------------------------------


def test_return_items():
    assert returned("a, b, b[], b[].x, a.x, a.x + 1 AS y, z = a.x, count(b[])") == ast.Return(
        (
            ast.ReturnItem(ast.EventReference("a")),
            ast.ReturnItem(ast.EventReference("b")),
            ast.ReturnItem(ast.EventReference("b")),
            ast.ReturnItem(ast.Elements("b", "x")),
            ast.ReturnItem(X),
            ast.ReturnItem(arithmetic("+", X, ast.Literal(1)), "y"),
            ast.ReturnItem(X, "z"),
            ast.ReturnItem(ast.Aggregate("count", "b", ast.Scope.WHOLE, None)),
        )
    )


def test_return_of_a_composite_event():
    assert returned("Alert(a.x, site = a.y, a.z AS z)") == ast.Return(
        (ast.ReturnItem(X), ast.ReturnItem(Y, "site"), ast.ReturnItem(Z, "z")), "Alert"
    )
    assert returned("Alert()") == ast.Return((), "Alert")
    assert returned("SHELF-ALERT-B(x = a.x)").type_name == "SHELF-ALERT-B"
    assert returned("`two words`(a.x)").type_name == "two words"


def test_return_of_a_function_is_no_composite_event():
    assert returned("abs(a.x)").items[0].expression == ast.Call("abs", (X,))
    assert returned("Alert(a.x) AS y").items == (ast.ReturnItem(ast.Call("Alert", (X,)), "y"),)
    assert returned("(Alert(a.x))").items == (ast.ReturnItem(ast.Call("Alert", (X,))),)
    assert returned("T - f(a.x)").items[0].expression == arithmetic(
        "-", ast.Parameter("T"), ast.Call("f", (X,))
    )


def test_in_brackets_an_equality_is_a_comparison():
    comparison = ast.Comparison("=", ast.Parameter("T"), X)
    assert returned("(T = a.x)").items == (ast.ReturnItem(comparison),)
    assert returned("(T = a.x) AS same").items == (ast.ReturnItem(comparison, "same"),)
    assert returned("a.x = T").items == (
        ast.ReturnItem(ast.Comparison("=", X, ast.Parameter("T"))),
    )


# --- One component, scripts, parameters ---------------------------------------------------


def test_in_a_query_of_one_component_attributes_are_bare():
    query = parse("EVENT A WHERE x > 5 AND A.y = z AND [w = 7] RETURN x, total = x + y, A")
    x, y, z = (ast.Attribute("A", name) for name in "xyz")
    assert query.condition == ast.And(
        (
            ast.Comparison(">", x, ast.Literal(5)),
            ast.Comparison("=", y, z),
            ast.Equivalence("w", ast.Literal(7)),
        )
    )
    assert query.returns.items == (
        ast.ReturnItem(x),
        ast.ReturnItem(arithmetic("+", x, y), "total"),
        ast.ReturnItem(ast.EventReference("A")),
    )


def test_a_script_is_queries_and_semicolons():
    assert parse_script("EVENT A; EVENT B;") == (parse("EVENT A"), parse("EVENT B"))
    assert parse_script("EVENT A WITHIN 1 hour.; EVENT B") == (
        parse("EVENT A WITHIN 1 hour"),
        parse("EVENT B"),
    )


def test_parameters_are_filled_in():
    text = "PATTERN SEQ(A a, B b) WHERE a.x > T AND a.y = name WITHIN W"
    filled = parse(text, parameters={"T": 5, "name": "it's", "W": "10 minutes"})
    assert filled == parse(
        "PATTERN SEQ(A a, B b) WHERE a.x > 5 AND a.y = 'it''s' WITHIN 10 minutes"
    )


# --- Spans --------------------------------------------------------------------------------


def spans(text, kind):
    """The texts of all nodes of a kind, from the outside to the inside."""
    nodes = (node for node in parse(text).walk() if isinstance(node, kind))
    return [text[node.span.start : node.span.end] for node in nodes]


def test_nodes_know_their_place_in_the_text():
    text = (
        "FROM s PATTERN SEQ( A a , ~( B  b ), C+ c[] ) -- end\n"
        "WHERE [id] AND (a.x + 1) * 2 > avg( c[].x ) AND c[ LEN ].y IN (1, -2 hours)\n"
        "WITHIN 10 minutes RETURN a.x AS y, c[]"
    )
    assert spans(text, ast.Sequence) == ["SEQ( A a , ~( B  b ), C+ c[] )"]
    assert spans(text, ast.Component) == ["A a", "B  b", "C+ c[]"]
    assert spans(text, ast.Negation) == ["~( B  b )"]
    assert spans(text, ast.Equivalence) == ["id"]
    assert spans(text, ast.Comparison) == ["(a.x + 1) * 2 > avg( c[].x )"]
    assert spans(text, ast.Arithmetic) == ["(a.x + 1) * 2", "a.x + 1"]
    assert spans(text, ast.Aggregate) == ["avg( c[].x )"]
    assert spans(text, ast.Element) == ["c[ LEN ].y"]
    assert spans(text, ast.In) == ["c[ LEN ].y IN (1, -2 hours)"]
    assert spans(text, ast.Negative) == ["-2 hours"]
    assert spans(text, ast.Duration) == ["2 hours"]
    assert spans(text, ast.Window) == ["WITHIN 10 minutes"]
    assert spans(text, ast.ReturnItem) == ["a.x AS y", "c[]"]
    assert spans(text, ast.Query) == [text]


def test_two_queries_are_equal_wherever_their_nodes_stand():
    assert parse("EVENT A WHERE x=1") == parse("\n\nEVENT  A\nWHERE  x  =  1")


def test_a_value_for_a_name_that_the_query_does_not_have_is_warned_of():
    message = r"does not use the parameter 'hihg'.*mean 'high'\?"
    with pytest.warns(cep.CepheidWarning, match=message):
        cep.query("PATTERN SEQ(A a, B b) WHERE b.x < high", parameters={"high": 3, "hihg": 4})
