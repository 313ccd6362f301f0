"""The server of the page: on the loopback address only, with a token in every request."""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, urlsplit

from cepheid.api import read_text
from cepheid.editing.document import Document
from cepheid.errors import CepheidError, OptionError
from cepheid.report.page import filled, resource
from cepheid.studio.saving import case_of, rule_file, rule_names, save_case, save_rule
from cepheid.studio.trials import Sample, events_of
from cepheid.studio.worker import Worker
from cepheid.visible import html_text

ADDRESS = "127.0.0.1"
TOKEN_HEADER = "X-Cepheid-Token"
_MOST_BYTES = 1 << 20
_PACKAGE = "cepheid.studio"


class _Refused(Exception):
    """A request that is not answered, with its status."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Studio:
    """What the page shows and does: the sample of events, the rules, and the text at the start."""

    sample: Sample | None
    rules: Path
    text: str
    worker: Worker = field(default_factory=Worker)
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    _lock: Lock = field(default_factory=Lock)

    def page(self, nonce: str) -> str:
        """The page."""
        known = None if self.sample is None else self.sample.read()
        start = {
            "token": self.token,
            "text": self.text,
            "rules": rule_names(self.rules),
            "folder": str(self.rules),
            "sample": None if known is None else _described(known),
        }
        parts = {
            "TITLE": html_text("cepheid studio"),
            "NONCE": nonce,
            "STYLE": resource("page.css") + resource("studio.css", _PACKAGE),
            "TIMELINE": resource("timeline.html"),
            "DATA": json.dumps(start).replace("<", "\\u003c"),
            "SCRIPT": resource("timeline.js") + resource("studio.js", _PACKAGE),
        }
        return filled(resource("studio.html", _PACKAGE), parts)

    def answer(self, path: str, said: dict[str, Any]) -> dict[str, Any]:
        """The reply to a request of the page.

        Raises:
            CepheidError: what the page asks for cannot be done.
        """
        actions: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "/api/faults": self._faults,
            "/api/complete": self._complete,
            "/api/hover": self._hover,
            "/api/format": self._format,
            "/api/run": self._run,
            "/api/open": self._open,
            "/api/save-rule": self._save_rule,
            "/api/save-test": self._save_test,
        }
        if path not in actions:
            raise _Refused(HTTPStatus.NOT_FOUND, "there is nothing here")
        return actions[path](said)

    def _document(self, said: dict[str, Any]) -> Document:
        known = None if self.sample is None else self.sample.read()
        return Document(_string(said, "text"), None, known)

    def _faults(self, said: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            return {"faults": [asdict(each) for each in self._document(said).problems()]}

    def _complete(self, said: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            found = self._document(said).completions(_offset(said))
        return {"words": [{**asdict(each), "insert": each.insert} for each in found[:100]]}

    def _hover(self, said: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            found = self._document(said).hover(_offset(said))
        return {"text": None if found is None else found.text}

    def _format(self, said: dict[str, Any]) -> dict[str, Any]:
        return {"text": self._document(said).formatted()}

    def _run(self, said: dict[str, Any]) -> dict[str, Any]:
        kind, found = self.worker.run("trial", _string(said, "text"), self.sample)
        return {"error": found} if kind == "error" else dict(found)

    def _open(self, said: dict[str, Any]) -> dict[str, Any]:
        name = _string(said, "name")
        return {"text": read_text(rule_file(self.rules, name)), "name": name}

    def _save_rule(self, said: dict[str, Any]) -> dict[str, Any]:
        text, name = _string(said, "text"), _string(said, "name")
        faults = [each for each in self._document(said).problems() if not each.is_warning]
        if faults:
            raise OptionError(f"the query has faults: {faults[0].message}")
        file = save_rule(self.rules, name, text, replaces=said.get("replaces") is True)
        return {"file": str(file), "rules": rule_names(self.rules)}

    def _save_test(self, said: dict[str, Any]) -> dict[str, Any]:
        """Save the rule, and what it finds now in the events."""
        saved = self._save_rule(said)
        known = events_of(_string(said, "text"), self.sample)
        usual = {"time": "ts", "type": "type"}
        options = {
            name: getattr(known, name) for name in usual if getattr(known, name) != usual[name]
        }
        case = case_of(Path(saved["file"]), Path(known.source), options)
        kind, recorded = self.worker.run("record", case)
        if kind == "error":
            raise OptionError(recorded)
        return {**saved, "test": str(save_case(recorded)), "matches": len(recorded.expect)}


def _described(known: Any) -> dict[str, Any]:
    return {
        "source": known.name,
        "events": known.table.num_rows,
        "isWhole": known.is_whole,
        "types": known.types,
        "columns": known.table.column_names,
    }


def _string(said: dict[str, Any], name: str) -> str:
    value = said.get(name)
    if not isinstance(value, str):
        raise _Refused(HTTPStatus.BAD_REQUEST, f"{name} is a string")
    return value


def _offset(said: dict[str, Any]) -> int:
    value = said.get("offset")
    if not isinstance(value, int) or isinstance(value, bool):
        raise _Refused(HTTPStatus.BAD_REQUEST, "offset is an integer")
    return max(0, min(value, len(_string(said, "text"))))


class _Handler(BaseHTTPRequestHandler):
    server: StudioServer
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        """Send the page."""
        with self._answering():
            url = urlsplit(self.path)
            self._check(parse_qs(url.query).get("token", [""])[0])
            if url.path != "/":
                raise _Refused(HTTPStatus.NOT_FOUND, "there is nothing here")
            nonce = secrets.token_urlsafe(16)
            self._send(self.server.studio.page(nonce), "text/html", nonce)

    def do_POST(self) -> None:
        """Answer a request of the page."""
        with self._answering():
            self._check(self.headers.get(TOKEN_HEADER, ""))
            length = self.headers.get("Content-Length", "")
            if not length.isdecimal() or int(length) > _MOST_BYTES:
                raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the request is too large")
            try:
                said = json.loads(self.rfile.read(int(length)))
            except (ValueError, RecursionError):
                said = None
            if not isinstance(said, dict):
                raise _Refused(HTTPStatus.BAD_REQUEST, "a request is a JSON object")
            self._send(json.dumps(self.server.studio.answer(self.path, said)), "application/json")

    def _check(self, token: str) -> None:
        """Refuse other sites: they know neither the token, nor can they send our host."""
        host = self.headers.get("Host", "")
        origin = self.headers.get("Origin")
        if host not in self.server.hosts or origin not in (None, *self.server.origins):
            raise _Refused(HTTPStatus.FORBIDDEN, "wrong host")
        if not hmac.compare_digest(token.encode(), self.server.studio.token.encode()):
            raise _Refused(HTTPStatus.FORBIDDEN, "open the address that cepheid studio printed")

    def _answering(self) -> _Answering:
        return _Answering(self)

    def _send(
        self, text: str, kind: str, nonce: str = "", status: HTTPStatus = HTTPStatus.OK
    ) -> None:
        content = text.encode("utf-8", "replace")
        self.send_response(status)
        scripts = f"script-src 'nonce-{nonce}'; " if nonce else ""
        policy = (
            f"default-src 'none'; {scripts}style-src 'unsafe-inline'; connect-src 'self'; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        for name, value in (
            ("Content-Type", f"{kind}; charset=utf-8"),
            ("Content-Length", str(len(content))),
            ("Content-Security-Policy", policy),
            ("Cache-Control", "no-store"),
            ("Referrer-Policy", "no-referrer"),
            ("X-Content-Type-Options", "nosniff"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Write nothing: the terminal shows the address."""


class _Answering:
    """Sends an error as an answer."""

    def __init__(self, handler: _Handler) -> None:
        self._handler = handler

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        if isinstance(error, _Refused):
            # What was not read of it must not be taken for another request.
            self._handler.close_connection = True
            self._handler._send(
                json.dumps({"error": str(error)}), "application/json", status=error.status
            )
        elif isinstance(error, CepheidError | OSError) and not isinstance(error, ConnectionError):
            self._handler._send(json.dumps({"error": str(error)}), "application/json")
        return isinstance(error, _Refused | CepheidError | OSError)


class StudioServer(ThreadingHTTPServer):
    """Serves the page to browsers on this machine."""

    daemon_threads = True

    def __init__(self, studio: Studio, port: int = 0) -> None:
        self.studio = studio
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            raise OptionError(f"cannot serve on port {port}: {error.strerror}") from None
        self.hosts = tuple(f"{name}:{self.server_port}" for name in (ADDRESS, "localhost"))
        self.origins = tuple(f"http://{host}" for host in self.hosts)

    @property
    def url(self) -> str:
        """The address of the page, with its token."""
        return f"http://{ADDRESS}:{self.server_port}/?token={self.studio.token}"

    def server_close(self) -> None:
        """Close the port and end the process that runs queries."""
        super().server_close()
        self.studio.worker.close()
