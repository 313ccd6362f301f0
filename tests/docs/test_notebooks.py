"""The notebooks of the gallery are the ones that were executed, and their cells still run."""

import sys
from pathlib import Path

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell

FOLDER = Path(__file__).parents[2] / "docs/notebooks"
MOST_BYTES = 100_000


@pytest.fixture(scope="module")
def made():
    sys.path.insert(0, str(FOLDER))
    try:
        import gallery
        import make
    finally:
        sys.path.remove(str(FOLDER))
    return {name: make.notebook(cells) for name, cells in gallery.NOTEBOOKS.items()}


def test_every_notebook_has_the_cells_of_the_gallery_and_small_outputs(made):
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == {*made}
    for name, notebook in made.items():
        path = FOLDER / f"{name}.ipynb"
        written = nbformat.read(path, as_version=4)
        nbformat.validate(written)
        assert [cell.source for cell in written.cells] == [cell.source for cell in notebook.cells]
        assert path.stat().st_size < MOST_BYTES, "outputs are too large: show less"
        outputs = [each for cell in written.cells for each in cell.get("outputs", ())]
        assert outputs
        assert not any(each.output_type == "error" for each in outputs)


def test_the_cells_before_spark_run(made):
    for name, notebook in made.items():
        shell = InteractiveShell()
        for cell in notebook.cells:
            if "pyspark" in cell.source:
                break
            if cell.cell_type == "code":
                assert shell.run_cell(cell.source).success, f"{name}: {cell.source}"


def test_a_notebook_is_a_page(monkeypatch):
    pytest.importorskip("mkdocs")
    monkeypatch.syspath_prepend(str(FOLDER.parent))
    from site_hooks import notebook_page

    page = notebook_page(FOLDER / "retail-theft.ipynb")
    assert page.startswith("# Retail theft\n")
    assert "```sase\n%%sase thefts" in page
    assert '<pre class="output">' in page
