"""A short way to write cases: a letter for each row, and what each row of the result is."""

import re
from typing import Any

import cepheid as cep


def both(text: str, source: Any, **keywords: Any) -> Any:
    """The rows that a clause gives, by the engine if it can run it, and by the reference too."""
    query = cep.query(text)
    found = query.match(source, **keywords)
    expected = query.match(source, evaluation="reference", **keywords)
    assert found.to_arrow().equals(expected.to_arrow()), (found, expected)
    assert (len(found), found.count) == (len(expected), expected.count)
    return found


def table(letters: str, **columns: list[Any]) -> dict[str, list[Any]]:
    """A table with a row for each letter: its position t, the letter as k, and more columns."""
    return {"t": list(range(len(letters))), "k": list(letters), **columns}


def defined(pattern: str, define: str) -> str:
    """DEFINE, in which A to E take the rows of their letters unless ``define`` says otherwise."""
    given = re.findall(r"(\w+) AS ", define)
    own = re.findall(r"\b[A-E]\b", pattern)
    parts = [f"{v} AS k = '{v.lower()}'" for v in dict.fromkeys(own) if v not in given]
    parts += [define] if define else []
    return "DEFINE " + ", ".join(parts) if parts else ""


def labels(pattern: str, letters: str, clauses: str = "", define: str = "") -> list[str]:
    """The matches over these letters, each as where it begins and the variables of its rows."""
    text = f"""MATCH_RECOGNIZE (ORDER BY t
        MEASURES CLASSIFIER() AS v, MATCH_NUMBER() AS n, FIRST(t) AS first
        ALL ROWS PER MATCH {clauses}
        PATTERN ({pattern}) {defined(pattern, define)})"""
    found: dict[int, str] = {}
    for row in both(text, table(letters)):
        start = row["t"] if row["first"] is None else row["first"]
        found.setdefault(row["n"], f"{start}:")
        found[row["n"]] += row["v"] or ""
    return list(found.values())


def measured(
    measures: str,
    pattern: str,
    letters: str,
    *,
    define: str = "",
    rows: str = "ONE ROW PER MATCH",
    **columns: list[Any],
) -> list[Any]:
    """The measures (separated by ``;``) of each row of the result; a tuple if there are several."""
    named = [f"{each} AS m{index}" for index, each in enumerate(measures.split(";"))]
    subset = "SUBSET S = (A, B)" if "S" in re.findall(r"\bS\b", measures + define) else ""
    text = f"""MATCH_RECOGNIZE (ORDER BY t MEASURES {", ".join(named)} {rows}
        PATTERN ({pattern}) {subset} {defined(pattern, define)})"""
    found = both(text, table(letters, **columns)).to_dicts()
    values = [tuple(row[f"m{index}"] for index in range(len(named))) for row in found]
    return [each[0] if len(each) == 1 else each for each in values]
