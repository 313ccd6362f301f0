"""Execute the notebooks of ``gallery.py`` and write them with their outputs.

``python docs/notebooks/make.py [NAME …]``, or ``make notebooks``.
"""

import os
import re
import sys
import warnings
from pathlib import Path

import nbformat
from gallery import NOTEBOOKS
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

FOLDER = Path(__file__).parent
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
_PROSE = re.compile(r"(#+ |[A-Z`]\S* [^\n=(]*[.:]$|[A-Z`].*\. )")


def is_markdown(cell: str) -> bool:
    """Whether a cell is text for people."""
    first = cell.partition("\n")[0]
    return first.startswith(("# ", "## ")) or bool(_PROSE.match(first) and "\n" not in cell)


def notebook(cells: list[str]) -> nbformat.NotebookNode:
    """A notebook that was not executed; ids of cells are their numbers."""
    made = [new_markdown_cell(cell) if is_markdown(cell) else new_code_cell(cell) for cell in cells]
    for number, cell in enumerate(made):
        cell["id"] = f"cell-{number}"
    return new_notebook(cells=made, metadata={"kernelspec": KERNEL})


def executed(cells: list[str]) -> nbformat.NotebookNode:
    """The notebook with its outputs, without messages of Java and the times of execution."""
    from nbclient import NotebookClient

    made = notebook(cells)
    NotebookClient(made, timeout=300, kernel_name="python3").execute()
    for cell in made.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [each for each in cell.outputs if each.get("name") != "stderr"]
    made.metadata = {"kernelspec": KERNEL}
    return made


def main(names: list[str]) -> None:
    """Write the notebooks with these names, or all."""
    warnings.simplefilter("ignore")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    for name in names or NOTEBOOKS:
        path = FOLDER / f"{name}.ipynb"
        nbformat.write(executed(NOTEBOOKS[name]), path)
        print(f"{path.name}: {path.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main(sys.argv[1:])
