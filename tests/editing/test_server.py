"""``cepheid lsp`` serves a real client over stdin and stdout."""

import asyncio
import json
import subprocess
import sys

import pytest
from lsprotocol import types as lsp
from pygls.lsp.client import BaseLanguageClient

UGLY = "-- events: events.csv\npattern SEQ(Shelf a, Exit b) -- 🛒\nWHERE a.tagid = b.tag_id"


class Client(BaseLanguageClient):
    """Waits for the faults that the server sends."""

    def __init__(self):
        super().__init__("test", "1")
        self.published = asyncio.Queue()
        put = self.published.put_nowait
        self.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda sent: put(sent))

    async def faults(self):
        sent = await asyncio.wait_for(self.published.get(), 20)
        return [(each.range, each.message, each.severity) for each in sent.diagnostics]


def run(session, folder, options=None):
    async def whole():
        client = Client()
        await client.start_io(sys.executable, "-m", "cepheid", "lsp")
        parameters = lsp.InitializeParams(
            lsp.ClientCapabilities(), root_uri=folder.as_uri(), initialization_options=options
        )
        await client.initialize_async(parameters)
        client.initialized(lsp.InitializedParams())
        await session(client)
        await client.shutdown_async(None)
        client.exit(None)
        await asyncio.wait_for(client.stop(), 20)

    asyncio.run(whole())


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "events.csv").write_text("ts,type,tag_id\n1,Shelf,7\n2,Exit,7\n")
    return tmp_path


def position(line, character):
    return lsp.Position(line, character)


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_an_editor_gets_faults_completion_hover_and_layout(folder):
    uri = (folder / "theft.sase").as_uri()
    at = lsp.TextDocumentIdentifier(uri)

    async def session(client):
        client.text_document_did_open(
            lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "sase", 1, UGLY))
        )
        ((range, message, severity),) = await client.faults()
        assert (range.start, range.end) == (position(2, 8), position(2, 13))
        assert message.endswith("Did you mean 'tag_id'?")
        assert severity is lsp.DiagnosticSeverity.Error

        offered = await client.text_document_completion_async(
            lsp.CompletionParams(at, position(2, 10))
        )
        assert [each.label for each in offered] == ["tag_id"]
        edit = offered[0].text_edit
        assert (edit.new_text, edit.range.start) == ("tag_id", position(2, 8))

        change = lsp.TextDocumentContentChangePartial(
            lsp.Range(position(2, 8), position(2, 13)), "tag_id"
        )
        client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(lsp.VersionedTextDocumentIdentifier(2, uri), [change])
        )
        assert await client.faults() == []

        shown = await client.text_document_hover_async(lsp.HoverParams(at, position(1, 13)))
        assert shown.contents.value == "`Shelf`: 1 of 2 events in events.csv"
        options = lsp.FormattingOptions(2, True)
        (whole,) = await client.text_document_formatting_async(
            lsp.DocumentFormattingParams(at, options)
        )
        assert whole.new_text == (
            "-- events: events.csv\nPATTERN SEQ(Shelf a, Exit b)  -- 🛒\n"
            "WHERE a.tag_id = b.tag_id\n"
        )
        client.text_document_did_close(lsp.DidCloseTextDocumentParams(at))
        assert await client.faults() == []

    run(session, folder)


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_a_setting_names_the_events_and_characters_are_counted_as_the_client_does(folder):
    uri = (folder / "theft.sase").as_uri()
    text = "PATTERN Shelf a -- x\nWHERE '🛒🛒' = 'x' AND a.tagid = 1"

    async def session(client):
        client.text_document_did_open(
            lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "sase", 1, text))
        )
        ((range, *_),) = await client.faults()
        # Each of the two characters has two UTF-16 units.
        assert range.start == position(1, 25)

    run(session, folder, {"events": "events.csv"})


def test_the_server_ends_without_a_word_when_the_editor_does():
    messages = [
        {"id": 1, "method": "initialize", "params": {"processId": None, "capabilities": {}}},
        {"method": "initialized", "params": {}},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ]
    written = b""
    for each in messages:
        body = json.dumps({"jsonrpc": "2.0", **each}).encode()
        written += b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    command = [sys.executable, "-m", "cepheid", "lsp"]
    ended = subprocess.run(command, input=written, capture_output=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, b"")
