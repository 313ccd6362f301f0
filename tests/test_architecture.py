"""ARCHITECTURE.md speaks of the modules that there are, and of no others."""

import re
import tomllib
from pathlib import Path

import cepheid

ROOT = Path(__file__).parents[1]
PACKAGE = Path(cepheid.__file__).parent
TEXT = (ROOT / "ARCHITECTURE.md").read_text()


def rows() -> list[set[str]]:
    """The modules in each row of the table of modules, from the top down."""
    table = TEXT.partition("| module |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    return [set(re.findall(r"`(\w+)`", cell)) for cell in cells]


def test_the_table_has_every_module_and_no_other():
    modules = {
        path.stem
        for path in PACKAGE.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    } - {"__init__"}
    assert set().union(*rows()) == modules


def test_the_table_has_the_order_that_the_linter_enforces():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    # A name in brackets may be missing.
    names = [{name for name in re.split(r"[| ]+", layer) if name[0] != "("} for layer in layers]
    assert rows() == [layer for layer in names if layer]


def test_every_file_that_is_named_exists():
    named = set(re.findall(r"`(\w+(?:/\w+)*\.(?:py|lark))`", TEXT))
    assert len(named) > 15
    assert {name for name in named if not (PACKAGE / name).exists()} == set()


def test_no_folder_has_more_modules_than_a_reader_can_hold():
    folders = [PACKAGE, *(path for path in PACKAGE.rglob("*") if path.is_dir())]
    counts = {folder: len([*folder.glob("[!_]*.py")]) for folder in folders}
    assert {str(folder): count for folder, count in counts.items() if count > 15} == {}
