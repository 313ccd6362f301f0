"""Run every example of README.md and docs/, and compare its output with the page.

The blocks of a page share a folder and a Python session, and run in page order:

- ``python``: a session (``>>>``) with its output, or a script, whose output is in the
  ``output`` block after it;
- ``console``: commands after ``$`` with their output; ``cepheid`` runs in this process;
- ``sase``: a valid query or script, written to a file if a file name follows the language;
- any other language with a file name is written to that file; other blocks are not run.
"""

import contextlib
import doctest
import io
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import cepheid as cep
from cepheid.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NOT_RUN = ("make", "pip", "git", "cd")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SECONDS = re.compile(r"in (\d+ ms|\d+\.\d\d s)")
_LINK = re.compile(r"\[[^\]]*\]\((?!https?:)([^)#]+)?(?:#([^)]*))?\)")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: its language, file name, text and line number."""

    language: str
    file: str | None
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    return [
        Block(found[1], found[2], found[3], text.count("\n", 0, found.start()) + 1)
        for found in _BLOCK.finditer(text)
    ]


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block, with its expected output."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, printed = re.sub(r"\n> ", "\n", part).partition("\n")
        while command.endswith("\\"):
            more, _, printed = printed.partition("\n")
            command = command[:-1] + more
        yield command, printed


def run_command(command: str) -> str:
    """The output of a command on a terminal of 80 columns."""
    words = shlex.split(command, comments=True)
    if words[0] == "cat":
        return "".join(Path(name).read_text() for name in words[1:])
    assert words[0] == "cepheid", f"{words[0]} is not run in examples"
    text = Path(words.pop()).read_text() if "<" in words else None
    arguments = [word for word in words[1:] if word != "<"]
    result = CliRunner().invoke(app, arguments, input=text, env={"COLUMNS": "80"})
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.output


class Page:
    """Runs the blocks of a page in order."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.session: dict[str, Any] = {}
        self.printed: str | None = None

    def run(self, block: Block) -> None:
        if block.file is not None:
            Path(block.file).parent.mkdir(parents=True, exist_ok=True)
            Path(block.file).write_text(block.text)
        match block.language:
            case "sase":
                cep.script(block.text)
            case "python" if ">>> " in block.text:
                self.run_session(block)
            case "python":
                with contextlib.redirect_stdout(io.StringIO()) as printed:
                    exec(compile(block.text, str(self.path), "exec"), self.session)
                self.printed = printed.getvalue()
            case "output":
                assert self.printed is not None, "there is no script before this output"
                self.compare(block, block.text, self.printed)
            case "console":
                for command, expected in commands(block.text):
                    if command.split()[0] not in NOT_RUN:
                        self.compare(block, expected, run_command(command))

    def run_session(self, block: Block) -> None:
        parser = doctest.DocTestParser()
        test = parser.get_doctest(block.text, self.session, self.path.name, None, block.line)
        said: list[str] = []
        runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
        runner.run(test, out=said.append, clear_globs=False)
        self.session = test.globs
        assert not runner.failures, "".join(said)

    def compare(self, block: Block, expected: str, actual: str) -> None:
        expected, actual = (_SECONDS.sub("in 5 ms", text) for text in (expected, actual))
        # Tables are padded with spaces on the right; the pages leave them out.
        lines = "".join(f"{line.rstrip()}\n" for line in actual.splitlines())
        place = f"{self.path.relative_to(ROOT)}:{block.line}"
        assert doctest.OutputChecker().check_output(expected, lines, doctest.ELLIPSIS), (
            f"{place} prints\n{lines}\nand not\n{expected}"
        )


def on_spark(page: Path) -> bool:
    return "SparkSession.builder" in page.read_text()


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.xdist_group("spark")) if on_spark(page) else page
        for page in PAGES
    ],
    ids=lambda page: str(page.relative_to(ROOT)),
)
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_the_examples_do_what_the_page_says(page, tmp_path, monkeypatch, request):
    if on_spark(page):
        request.getfixturevalue("spark")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    runner = Page(page)
    for block in blocks(page):
        runner.run(block)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for file, heading in _LINK.findall(page.read_text()):
        target = Path(os.path.normpath(page.parent / file)) if file else page
        assert target.exists(), f"{file} does not exist"
        if heading:
            headings = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings}
            assert heading in anchors, f"{target.name} has no heading #{heading}"
