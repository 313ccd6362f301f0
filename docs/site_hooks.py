"""Adapt the pages to the site: add notebooks and files from outside docs/, title code blocks."""

import json
import os
import re
from html import escape
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT_PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "tests/README.md")
_LINK = re.compile(r'(\]\(|src="|srcset=")([^)"#: ]+)')
_NAMED_BLOCK = re.compile(r"^```(\w+) (\S+)$", re.MULTILINE)
# The highlighter does not know this language name, which the tests use.
_LANGUAGES = {"output": "text"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the root folder, and every file outside docs/ that a page links to."""
    root = Path(config.config_file_path).parent
    wanted = {root / name for name in ROOT_PAGES}
    for page in [*(root / "docs").rglob("*.md"), *wanted]:
        for _, link in _LINK.findall(page.read_text("utf-8")):
            target = Path(os.path.normpath(page.parent / link))
            if target.is_file() and root in target.parents and root / "docs" not in target.parents:
                wanted.add(target)
    wanted.discard(root / "README.md")  # index.md replaces it
    for path in sorted((root / "docs").rglob("*.ipynb")):
        name = path.relative_to(root / "docs").with_suffix(".md").as_posix()
        files.append(File.generated(config, name, content=notebook_page(path)))
    for target in sorted(wanted):
        name = target.relative_to(root).as_posix()
        files.append(File.generated(config, _in_site(name), content=target.read_bytes()))
    return files


def on_page_markdown(markdown: str, page, config: MkDocsConfig, **_: object) -> str:
    """Redirect links to files outside docs/ into the site, and turn file names into titles."""
    root = Path(config.config_file_path).parent
    uri = PurePosixPath(page.file.src_uri)
    is_notebook = uri.parts[0] == "notebooks"
    is_outside = page.file.generated_by is not None and not is_notebook
    name = uri.as_posix().replace("tests.md", "tests/README.md")
    source = root / name if is_outside else root / "docs" / uri

    def redirect(found: re.Match[str]) -> str:
        target = Path(os.path.normpath(source.parent / found[2]))
        if not target.is_file() or root not in target.parents:
            return found[0]
        inside = target.relative_to(root).as_posix()
        inside = inside.removeprefix("docs/") if inside.startswith("docs/") else _in_site(inside)
        inside = "index.md" if inside == "README.md" else inside
        return found[1] + os.path.relpath(inside, uri.parent)

    markdown = _LINK.sub(redirect, markdown)
    markdown = _NAMED_BLOCK.sub(r'``` {.\1 title="\2"}', markdown)
    for language, shown in _LANGUAGES.items():
        markdown = markdown.replace(f"```{language}\n", f"```{shown}\n")
        markdown = markdown.replace(f"{{.{language} ", f"{{.{shown} ")
    return markdown


def notebook_page(path: Path) -> str:
    """An executed notebook as Markdown: its cells, each with its outputs."""
    parts = []
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        magic = re.match(r"%%(sase|match_recognize)[^\n]*", source)
        language = {"sase": "sase", "match_recognize": "sql"}[magic[1]] if magic else "python"
        parts.append(f"```{language}\n{source}\n```")
        parts += [_output(each) for each in cell["outputs"]]
    first, *rest = parts
    return "\n\n".join([first, f"[The notebook]({path.name})", *rest]) + "\n"


def _output(output: dict) -> str:
    data = output.get("data", {})
    if "text/html" in data:
        html = "".join(data["text/html"])
        # A blank line would end the HTML, and styles of frames are those of a notebook.
        html = re.sub(r"<style.*?</style>", "", html, flags=re.DOTALL)
        return '<div class="output">' + re.sub(r"\s*\n\s*", " ", html) + "</div>"
    text = "".join(output.get("text") or data.get("text/plain", ""))
    return f'<pre class="output">{escape(text).replace(chr(10), "&#10;")}</pre>'


def _in_site(name: str) -> str:
    """The path of a root file in the site. A README would become the index page of its folder."""
    return "tests.md" if name == "tests/README.md" else name
