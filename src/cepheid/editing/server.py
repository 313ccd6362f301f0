"""``cepheid lsp``: the language server, over standard input and output."""

from __future__ import annotations

import logging
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path
from pygls.workspace import TextDocument

from cepheid.editing.document import Document
from cepheid.editing.known_events import KnownEvents, read_events
from cepheid.editing.problems import Problem
from cepheid.errors import CepheidError

_KINDS = {
    "keyword": lsp.CompletionItemKind.Keyword,
    "strategy": lsp.CompletionItemKind.EnumMember,
    "variable": lsp.CompletionItemKind.Variable,
    "column": lsp.CompletionItemKind.Field,
    "type": lsp.CompletionItemKind.Class,
    "function": lsp.CompletionItemKind.Function,
    "unit": lsp.CompletionItemKind.Unit,
}


class QueryServer(LanguageServer):
    """The server; ``events`` is the file of events that the client's settings name."""

    def __init__(self) -> None:
        super().__init__("cepheid", version("cepheid"))
        self.events: str | None = None

    def document(self, uri: str) -> tuple[TextDocument, Document]:
        """An open document, as the editor and as the language know it."""
        opened = self.workspace.get_text_document(uri)
        path = to_fs_path(uri)
        folder = None if path is None else Path(path).parent
        return opened, Document(opened.source, folder, self._known_events())

    def _known_events(self) -> KnownEvents | CepheidError | None:
        if not self.events:
            return None
        root = self.workspace.root_path
        try:
            return read_events(str(Path(root or ".") / self.events))
        except CepheidError as error:
            return error

    def publish(self, uri: str) -> None:
        """Send the faults of a document."""
        opened, document = self.document(uri)
        found = [_diagnostic(opened, each) for each in document.problems()]
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri, found, version=opened.version)
        )


def make_server() -> QueryServer:
    """A server with all that it offers."""
    server = QueryServer()

    @server.feature(lsp.INITIALIZE)
    def initialize(parameters: lsp.InitializeParams) -> None:
        said: Any = parameters.initialization_options
        events = said.get("events") if isinstance(said, dict) else getattr(said, "events", None)
        server.events = events if isinstance(events, str) else None

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(parameters: lsp.DidOpenTextDocumentParams) -> None:
        server.publish(parameters.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(parameters: lsp.DidChangeTextDocumentParams) -> None:
        server.publish(parameters.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(parameters: lsp.DidCloseTextDocumentParams) -> None:
        uri = parameters.text_document.uri
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    @server.feature(
        lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=[".", "[", "("])
    )
    def complete(parameters: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        opened, document = server.document(parameters.text_document.uri)
        offset = opened.offset_at_position(parameters.position)
        return [
            lsp.CompletionItem(
                each.label,
                kind=_KINDS[each.kind],
                detail=each.detail or None,
                sort_text=f"{number:04}",
                text_edit=lsp.TextEdit(_range(opened, each.start, offset), each.insert),
            )
            for number, each in enumerate(document.completions(offset))
        ]

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(parameters: lsp.HoverParams) -> lsp.Hover | None:
        opened, document = server.document(parameters.text_document.uri)
        found = document.hover(opened.offset_at_position(parameters.position))
        if found is None:
            return None
        contents = lsp.MarkupContent(lsp.MarkupKind.Markdown, found.text)
        return lsp.Hover(contents, _range(opened, found.start, found.end))

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def format(parameters: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        opened, document = server.document(parameters.text_document.uri)
        try:
            formatted = document.formatted()
        except CepheidError:
            return []  # The faults are shown already.
        if formatted == opened.source:
            return []
        return [lsp.TextEdit(_range(opened, 0, len(opened.source)), formatted)]

    return server


def serve() -> None:
    """Serve one client until it closes the connection."""
    logging.disable(logging.INFO)
    make_server().start_io()


def _diagnostic(opened: TextDocument, problem: Problem) -> lsp.Diagnostic:
    severity = lsp.DiagnosticSeverity
    message = f"{problem.message}. {problem.advice}" if problem.advice else problem.message
    return lsp.Diagnostic(
        _range(opened, problem.start, problem.end),
        message,
        severity=severity.Warning if problem.is_warning else severity.Error,
        source="cepheid",
    )


def _range(opened: TextDocument, start: int, end: int) -> lsp.Range:
    return lsp.Range(_position(opened, start), _position(opened, end))


def _position(opened: TextDocument, offset: int) -> lsp.Position:
    """The line and the character of an offset, in the units that the client counts."""
    lines = opened.source[:offset].splitlines(keepends=True)
    if not lines or lines[-1].endswith(("\n", "\r")):
        return lsp.Position(len(lines), 0)
    units = opened.position_codec.client_num_units(lines[-1])
    return lsp.Position(len(lines) - 1, units)
