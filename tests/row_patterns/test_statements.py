"""Statements with MATCH_RECOGNIZE are split into inputs, clauses and SQL without clauses."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import cepheid as cep
from cepheid.row_patterns.sql.statements import split
from cepheid.row_patterns.sql.tokens import CLAUSE, DUCKDB, SPARK

M = "MATCH_RECOGNIZE (PATTERN (a))"


def parts(text: str, dialect=SPARK) -> list[str]:
    """The inputs of the clauses and the statement; results are ①, ② and so on."""
    found = split(text, dialect)
    texts = [*(step.input for step in found.steps), found.sql]
    for number, step in enumerate(found.steps):
        texts = [each.replace(step.name, chr(ord("①") + number)) for each in texts]
    return texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # One clause: what its input is, and what follows it.
        (f"SELECT * FROM t {M}", ["SELECT * FROM t", "SELECT * FROM ①"]),
        (f"SELECT * FROM t {M};", ["SELECT * FROM t", "SELECT * FROM ①;"]),
        (f"select * from t {M.lower()} m", ["SELECT * FROM t", "select * from ① m"]),
        (f"SELECT * FROM t {M} AS m (x, y)", ["SELECT * FROM t", "SELECT * FROM ① AS m (x, y)"]),
        (f"SELECT 1 FROM a.b.c {M} WHERE x", ["SELECT * FROM a.b.c", "SELECT 1 FROM ① WHERE x"]),
        (f"SELECT 1 FROM `a b`.`c``d` {M}", ["SELECT * FROM `a b`.`c``d`", "SELECT 1 FROM ①"]),
        (f"SELECT 1 FROM t AS u {M}", ["SELECT * FROM t AS u", "SELECT 1 FROM ①"]),
        (f"SELECT 1 FROM t u (a, b) {M}", ["SELECT * FROM t u (a, b)", "SELECT 1 FROM ①"]),
        (f"SELECT 1 FROM range(10) {M}", ["SELECT * FROM range(10)", "SELECT 1 FROM ①"]),
        (f"SELECT 1 FROM (SELECT 2) {M}", ["SELECT * FROM (SELECT 2)", "SELECT 1 FROM ①"]),
        (f"SELECT 1 FROM(SELECT 2){M}", ["SELECT * FROM (SELECT 2)", "SELECT 1 FROM①"]),
        (
            f"SELECT 1 FROM t TABLESAMPLE (5 ROWS) {M}",
            ["SELECT * FROM t TABLESAMPLE (5 ROWS)", "SELECT 1 FROM ①"],
        ),
        (f"FROM t {M} SELECT x", ["SELECT * FROM t", "FROM ① SELECT x"]),
        (f"SELECT 1 FROM (t {M} m)", ["SELECT * FROM t", "SELECT 1 FROM (① m)"]),
        # Several clauses.
        (
            f"SELECT 1 FROM t {M} a JOIN u {M} b ON a.x = b.x",
            ["SELECT * FROM t", "SELECT * FROM u", "SELECT 1 FROM ① a JOIN ② b ON a.x = b.x"],
        ),
        (
            f"SELECT 1 FROM t, u {M} m, v",
            ["SELECT * FROM u", "SELECT 1 FROM t, ① m, v"],
        ),
        (
            f"SELECT 1 FROM a JOIN b ON f(a.x, b.x), c {M}",
            ["SELECT * FROM c", "SELECT 1 FROM a JOIN b ON f(a.x, b.x), ①"],
        ),
        (
            f"SELECT 1 FROM a LEFT JOIN b {M} USING (x)",
            ["SELECT * FROM b", "SELECT 1 FROM a LEFT JOIN ① USING (x)"],
        ),
        (
            f"SELECT 1 FROM t {M} UNION ALL SELECT 2 FROM u {M}",
            ["SELECT * FROM t", "SELECT * FROM u", "SELECT 1 FROM ① UNION ALL SELECT 2 FROM ②"],
        ),
        # Nested.
        (
            f"SELECT 1 FROM (SELECT * FROM t {M} WHERE y) {M} m",
            ["SELECT * FROM t", "SELECT * FROM (SELECT * FROM ① WHERE y)", "SELECT 1 FROM ② m"],
        ),
        (
            f"SELECT 1 FROM (SELECT 2 FROM (SELECT 3 FROM t {M}) {M}) {M}",
            [
                "SELECT * FROM t",
                "SELECT * FROM (SELECT 3 FROM ①)",
                "SELECT * FROM (SELECT 2 FROM ②)",
                "SELECT 1 FROM ③",
            ],
        ),
        (
            f"SELECT 1 FROM x WHERE EXISTS (SELECT 1 FROM t {M} m WHERE m.a = x.a)",
            [
                "SELECT * FROM t",
                "SELECT 1 FROM x WHERE EXISTS (SELECT 1 FROM ① m WHERE m.a = x.a)",
            ],
        ),
        (
            f"SELECT 1 FROM x WHERE a IN (SELECT b FROM t {M}) AND c",
            ["SELECT * FROM t", "SELECT 1 FROM x WHERE a IN (SELECT b FROM ①) AND c"],
        ),
        (
            f"SELECT (SELECT max(b) FROM t {M}) AS c",
            ["SELECT * FROM t", "SELECT (SELECT max(b) FROM ①) AS c"],
        ),
        # Common table expressions.
        (
            f"WITH a AS (SELECT 1) SELECT * FROM a {M}",
            [
                "WITH a AS (SELECT 1) SELECT * FROM a",
                "WITH a AS (SELECT 1) SELECT * FROM ①",
            ],
        ),
        (
            f"WITH a AS (SELECT 1), b (x) AS (SELECT 1 FROM a {M}) SELECT * FROM b {M}",
            [
                "WITH a AS (SELECT 1) SELECT * FROM a",
                "WITH a AS (SELECT 1), b (x) AS (SELECT 1 FROM ①) SELECT * FROM b",
                "WITH a AS (SELECT 1), b (x) AS (SELECT 1 FROM ①) SELECT * FROM ②",
            ],
        ),
        (
            f"WITH a AS (SELECT 1) SELECT * FROM (WITH a AS (SELECT * FROM a) SELECT * FROM a {M})",
            [
                "WITH a AS (SELECT 1) SELECT * FROM (WITH a AS (SELECT * FROM a) SELECT * FROM a)",
                "WITH a AS (SELECT 1) SELECT * FROM (WITH a AS (SELECT * FROM a) SELECT * FROM ①)",
            ],
        ),
        (
            f"SELECT 1 FROM (WITH a AS (SELECT 1) SELECT * FROM a), b {M}",
            ["SELECT * FROM b", "SELECT 1 FROM (WITH a AS (SELECT 1) SELECT * FROM a), ①"],
        ),
        (
            f"WITH RECURSIVE a (n) MAX RECURSION LEVEL 9 AS (SELECT 1) SELECT * FROM a {M}",
            [
                "WITH RECURSIVE a (n) MAX RECURSION LEVEL 9 AS (SELECT 1) SELECT * FROM a",
                "WITH RECURSIVE a (n) MAX RECURSION LEVEL 9 AS (SELECT 1) SELECT * FROM ①",
            ],
        ),
        (
            f"WITH a AS NOT MATERIALIZED (SELECT 1) SELECT * FROM a {M}",
            [
                "WITH a AS NOT MATERIALIZED (SELECT 1) SELECT * FROM a",
                "WITH a AS NOT MATERIALIZED (SELECT 1) SELECT * FROM ①",
            ],
        ),
        (
            f"INSERT INTO x WITH a AS (SELECT 1) SELECT * FROM a {M}",
            [
                "WITH a AS (SELECT 1) SELECT * FROM a",
                "INSERT INTO x WITH a AS (SELECT 1) SELECT * FROM ①",
            ],
        ),
        (
            f"SELECT x FROM u GROUP BY x WITH ROLLUP UNION SELECT CAST(y AS TIMESTAMP WITH TIME "
            f"ZONE) FROM t {M}",
            [
                "SELECT * FROM t",
                "SELECT x FROM u GROUP BY x WITH ROLLUP UNION SELECT CAST(y AS TIMESTAMP WITH TIME "
                "ZONE) FROM ①",
            ],
        ),
        # Statements that write.
        (
            f"INSERT INTO x SELECT 1 FROM t {M}",
            ["SELECT * FROM t", "INSERT INTO x SELECT 1 FROM ①"],
        ),
        (
            f"CREATE TABLE x AS SELECT 1 FROM t {M}",
            ["SELECT * FROM t", "CREATE TABLE x AS SELECT 1 FROM ①"],
        ),
        (
            f"MERGE INTO x USING (SELECT 1 FROM t {M}) AS s ON x.a = s.a WHEN MATCHED THEN DELETE",
            [
                "SELECT * FROM t",
                "MERGE INTO x USING (SELECT 1 FROM ①) AS s ON x.a = s.a WHEN MATCHED THEN DELETE",
            ],
        ),
        (f"EXPLAIN SELECT 1 FROM t {M}", ["SELECT * FROM t", "EXPLAIN SELECT 1 FROM ①"]),
        # Comments, strings and names that look like something else.
        (f"SELECT 1 FROM t /* ( */ {M}", ["SELECT * FROM t", "SELECT 1 FROM ①"]),
        (f"SELECT 1 FROM t -- (\n {M}", ["SELECT * FROM t", "SELECT 1 FROM ①"]),
        (
            f"SELECT /* /* ( */ {M} */ 1 FROM t {M}",
            ["SELECT * FROM t", f"SELECT /* /* ( */ {M} */ 1 FROM ①"],
        ),
        (
            f"SELECT ')' AS x, '{M}' FROM (SELECT '(') {M}",
            ["SELECT * FROM (SELECT '(')", f"SELECT ')' AS x, '{M}' FROM ①"],
        ),
        (
            f"SELECT 'it''s (', 'it\\'s (', r'\\', r\"(\" FROM t {M}",
            ["SELECT * FROM t", "SELECT 'it''s (', 'it\\'s (', r'\\', r\"(\" FROM ①"],
        ),
        (f'SELECT "FROM t {M}" FROM t {M}', ["SELECT * FROM t", f'SELECT "FROM t {M}" FROM ①']),
        (
            f"SELECT `from`, `match_recognize (` FROM `FROM` {M}",
            ["SELECT * FROM `FROM`", "SELECT `from`, `match_recognize (` FROM ①"],
        ),
        (
            f"SELECT match_recognize FROM t {M}",
            ["SELECT * FROM t", "SELECT match_recognize FROM ①"],
        ),
        (
            "SELECT 1 FROM t MATCH_RECOGNIZE /* ( */ (MEASURES ')' AS \"(\", A.x AS `)`, '\\' AS y "
            "PATTERN ((a | b){2} $ /* ) */) -- )\n) AS m",
            ["SELECT * FROM t", "SELECT 1 FROM ① AS m"],
        ),
    ],
)
def test_a_statement_is_split(text, expected):
    assert parts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"SELECT 'a\\' FROM t {M}", ["SELECT * FROM t", "SELECT 'a\\' FROM ①"]),
        (f"SELECT e'a\\'(' FROM t {M}", ["SELECT * FROM t", "SELECT e'a\\'(' FROM ①"]),
        (
            f"SELECT $$'($$, $x$ $$ ( $x$ FROM t {M}",
            ["SELECT * FROM t", "SELECT $$'($$, $x$ $$ ( $x$ FROM ①"],
        ),
        (f'SELECT 1 FROM "a ""b""" {M}', ['SELECT * FROM "a ""b"""', "SELECT 1 FROM ①"]),
        (f"SELECT 1 FROM 'f.parquet' {M}", ["SELECT * FROM 'f.parquet'", "SELECT 1 FROM ①"]),
        (f"FROM t {M}", ["SELECT * FROM t", "FROM ①"]),
    ],
)
def test_duckdb_has_other_strings_and_names(text, expected):
    assert parts(text, DUCKDB) == expected


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "",
        "SELECT 'FROM t MATCH_RECOGNIZE (PATTERN (a))'",
        "-- FROM t MATCH_RECOGNIZE (PATTERN (a))",
        "SELECT match_recognize FROM t",
        "CREATE VIEW v AS SELECT 1; SELECT 2",
        "SELECT 'not closed MATCH_RECOGNIZE (",
        "SELECT 1 /* not closed MATCH_RECOGNIZE (",
    ],
)
@pytest.mark.parametrize("dialect", [SPARK, DUCKDB, CLAUSE])
def test_a_text_without_a_clause_is_left_alone(text, dialect):
    found = split(text, dialect)
    assert (found.steps, found.sql, found.view) == ((), text, None)
    assert "".join(token.text for token in dialect.tokens(text)) == text


def message(text: str) -> str:
    with pytest.raises(cep.QueryError) as raised:
        split(text, SPARK, source="s.sql")
    return str(raised.value)


def test_faults_have_their_places_in_the_whole_text():
    text = """SELECT *
FROM t MATCH_RECOGNIZE (PATTERN (a) DEFINE z AS x > 1) AS m
JOIN u MATCH_RECOGNIZE (ORDER BY x PATERN (a)) AS n"""
    said = message(text)
    assert "s.sql:2:44: " in said
    assert "s.sql:3:36: " in said
    assert "  3 | JOIN u MATCH_RECOGNIZE (ORDER BY x PATERN (a)) AS n\n" in said
    assert "Did you mean 'PATTERN'?" in said


def test_faults_of_columns_have_them_too():
    found = split("SELECT 1\nFROM t MATCH_RECOGNIZE (PATTERN (a)\nDEFINE a AS y > 1)", SPARK)
    with pytest.raises(cep.QuerySemanticError, match="query:3:13: the table has no column 'y'"):
        found.steps[0].query.match({"x": [1]})


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT {M}",
        f"SELECT a, b {M} FROM t",
        f"SELECT * FROM {M}",
        f"SELECT * FROM t, {M}",
        f"SELECT * FROM t WHERE x {M}",
        f"SELECT * FROM a JOIN b ON a.x = b.x {M}",
        f"SELECT * FROM a JOIN b USING (x) {M}",
        M,
    ],
)
def test_a_clause_needs_a_relation_before_it(text):
    assert "MATCH_RECOGNIZE comes after a table, a view or a subquery in FROM" in message(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            f"CREATE VIEW v AS SELECT 1 FROM t {M}",
            "1:8: MATCH_RECOGNIZE cannot be in a view that is kept",
        ),
        (
            f"create or replace view v AS SELECT 1 FROM t {M}",
            "1:19: MATCH_RECOGNIZE cannot be in a view",
        ),
        (f"ALTER VIEW v AS SELECT 1 FROM t {M}", "cannot be in a view that is kept"),
        (f"CREATE MATERIALIZED VIEW v AS SELECT 1 FROM t {M}", "cannot be in a view that is kept"),
        (f"CREATE FUNCTION f() RETURN SELECT 1 FROM t {M}", "cannot be in a function that is kept"),
        (
            f"SELECT * FROM a, LATERAL (SELECT 1 FROM b WHERE b.x = a.x) {M}",
            "1:18: the input of MATCH_RECOGNIZE cannot be LATERAL",
        ),
        (f"CACHE TABLE x AS SELECT 1 FROM t {M}", "cannot be in CACHE TABLE"),
        (f"SELECT 1; SELECT 1 FROM t {M}", "1:27: a text with MATCH_RECOGNIZE is one statement"),
        (f"SELECT 1 FROM t {M}; SELECT 2", "1:48: a text with MATCH_RECOGNIZE is one statement"),
        (f"BEGIN SELECT 1 FROM t {M}; END", "a text with MATCH_RECOGNIZE is one statement"),
        ("SELECT 1 FROM t MATCH_RECOGNIZE (PATTERN (a)", "the bracket '(' is not closed"),
        ("SELECT 1 FROM t MATCH_RECOGNIZE (MEASURES 'x AS y PATTERN (a))", "not closed"),
    ],
)
def test_statements_that_are_refused(text, said):
    assert said in message(text)


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("CREATE TEMP VIEW v AS", ("v", (), False, False)),
        (
            "create or replace temporary view `v w` (a, `b c` COMMENT 'as, (') AS",
            ("`v w`", ("a", "b c"), False, True),
        ),
        ("CREATE GLOBAL TEMPORARY VIEW v COMMENT 'x' AS", ("v", (), True, False)),
    ],
)
def test_temporary_views_are_taken_apart(head, expected):
    found = split(f"{head} SELECT 1 AS x FROM t {M};", SPARK)
    assert found.view is not None
    assert (
        found.view.name,
        found.view.columns,
        found.view.is_global,
        found.view.replaces,
    ) == expected
    assert found.view.query == f"SELECT 1 AS x FROM {found.steps[0].name}"


def test_parameters_are_those_of_all_clauses():
    text = "SELECT 1 FROM t MATCH_RECOGNIZE (PATTERN (a) DEFINE a AS x > {})"
    both = text.format("low") + " UNION ALL " + text.format("high")
    found = split(both, SPARK, parameters={"low": 1, "high": 2})
    assert [step.query.count({"x": [0, 1, 2, 3]}) for step in found.steps] == [2, 1]
    with pytest.warns(cep.CepheidWarning, match="does not use the parameter 'hight'.*'high'"):
        split(both, SPARK, parameters={"low": 1, "high": 2, "hight": 3})


def test_names_of_results_do_not_contain_each_other():
    found = split(" UNION ALL ".join([f"SELECT 1 FROM t {M}"] * 12), SPARK)
    names = [step.name for step in found.steps]
    assert len({*names}) == 12
    assert not any(one in other for one in names for other in names if one != other)


PIECES = st.sampled_from(
    [
        "SELECT", "*", "FROM", "JOIN", "ON", "WITH", "RECURSIVE", "AS", "(", "(", ")", ")", ",",
        ";", "t", "u.v", "'a''(", "'", '"', '"x"', "`y`", "`", "--", "\n", "/*", "*/", "$$", "$",
        "\\", "r'", "CREATE", "TEMP", "VIEW", "IF", "NOT", "EXISTS", "TABLE", "CACHE", "BEGIN",
        "USING", "WHERE", "MATCH_RECOGNIZE", "PATTERN (a)", M, M, "é", "\x00", "1",
    ]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(PIECES, max_size=14).map(" ".join), st.sampled_from([SPARK, DUCKDB]))
@example(f"CREATE TEMP VIEW IF FROM t {M}", SPARK)
@example(f"SELECT * FROM t {M} " + "(" * 2000, DUCKDB)
def test_any_text_is_split_or_refused_with_a_message(text, dialect):
    assert "".join(token.text for token in dialect.tokens(text)) == text
    try:
        found = split(text, dialect)
    except cep.QueryError:
        return
    assert found.steps or found.sql == text
    for step in found.steps:
        assert step.name not in text
