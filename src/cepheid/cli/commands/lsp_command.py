"""The command that serves editors."""

from __future__ import annotations

from cepheid.cli.named_options import command_with
from cepheid.cli.reporting import reporting
from cepheid.cli.root import app
from cepheid.errors import OptionError


@app.command(
    "lsp",
    cls=command_with({}),
    epilog="""\b
Examples:
  cepheid lsp
""",
)
def serve_editor() -> None:
    """Serve an editor: errors as you type, completion, hover texts and formatting.

    Speaks the Language Server Protocol over stdin and stdout; an editor starts it.
    """
    with reporting():
        try:
            from cepheid.editing.server import serve
        except ModuleNotFoundError as error:
            raise OptionError(
                f"cepheid lsp needs {error.name}: pip install 'cepheid[lsp]'"
            ) from None
        serve()
