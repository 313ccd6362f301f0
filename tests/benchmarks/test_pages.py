"""The tables of the documentation are those of the stored results."""

import pytest
from benchmarks import pages


@pytest.mark.parametrize("path", pages.PAGES, ids=str)
def test_tables_are_those_of_the_results(path):
    text = path.read_text(encoding="utf-8")
    assert pages.filled(text) == text, "run python -m benchmarks.pages"


def test_every_table_has_its_place():
    texts = [path.read_text(encoding="utf-8") for path in pages.PAGES]
    found = [match["name"] for text in texts for match in pages.BLOCK.finditer(text)]
    assert sorted(found) == sorted(pages.TABLES)
