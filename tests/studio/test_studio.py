"""The page of ``cepheid studio`` in a browser, and what its server refuses."""

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from http.client import HTTPConnection
from multiprocessing import Pipe
from socket import create_connection
from threading import Thread, Timer
from typing import Any

import pyarrow.parquet
import pytest
from browser import opened_page

from cepheid.cli.commands.studio_command import first_query
from cepheid.editing.known_events import read_events
from cepheid.errors import EventError, LimitError, OptionError
from cepheid.language.parser import parse_script
from cepheid.rule_sets.testing import Case, read_cases
from cepheid.samples import scenario
from cepheid.studio.saving import rule_file, save_rule
from cepheid.studio.server import TOKEN_HEADER, Studio, StudioServer
from cepheid.studio.trials import Sample, run_trial
from cepheid.studio.worker import Worker

THEFT = scenario("retail_theft").query
PAIR = "PATTERN SEQ(Shelf a, Exit c)\nWHERE [tag_id]\nWITHIN 12 hours\nRETURN a.tag_id AS item\n"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioServer]:
    folder = tmp_path_factory.mktemp("studio")
    pyarrow.parquet.write_table(scenario("retail_theft").events(), folder / "day.parquet")
    studio = Studio(
        Sample(str(folder / "day.parquet"), rows=500), folder / "rules", THEFT, Worker(60)
    )
    server = StudioServer(studio)
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def ask(
    server: StudioServer, path: str, said: Any = None, headers: dict[str, str] | None = None
) -> tuple[int, Any]:
    """The status and the answer to a request; with the token, unless ``headers`` are given."""
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    sent = {TOKEN_HEADER: server.studio.token} if headers is None else headers
    method, body = ("GET", None) if said is None else ("POST", json.dumps(said))
    connection.request(method, path, body, sent)
    answer = connection.getresponse()
    content = answer.read().decode()
    connection.close()
    is_json = answer.headers["Content-Type"].startswith("application/json")
    return answer.status, json.loads(content) if is_json else content


# --- the server


def test_every_request_needs_the_token_and_our_host(served):
    text = {"text": THEFT}
    assert ask(served, "/api/faults", text)[0] == 200
    assert ask(served, "/api/faults", text, {})[0] == 403
    assert ask(served, "/api/faults", text, {TOKEN_HEADER: "wrong"})[0] == 403
    assert ask(served, "/")[0] == 403
    assert ask(served, "/?token=wrong")[0] == 403
    right = {TOKEN_HEADER: served.studio.token}
    assert ask(served, "/api/faults", text, {**right, "Host": "evil.example"})[0] == 403
    assert ask(served, "/api/faults", text, {**right, "Origin": "http://evil.example"})[0] == 403
    page = f"/?token={served.studio.token}"
    assert ask(served, page)[0] == 200
    assert ask(served, page, headers={"Host": "evil.example"})[0] == 403


def test_what_follows_a_refused_request_is_no_request(served):
    host, token = f"127.0.0.1:{served.server_port}", served.studio.token
    inner = f"GET /?token={token} HTTP/1.1\r\nHost: {host}\r\n\r\n"
    head = f"POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: {len(inner)}\r\n\r\n"
    with create_connection(("127.0.0.1", served.server_port), timeout=60) as raw:
        raw.sendall((head + inner).encode())
        answered = b"".join(iter(lambda: raw.recv(65_536), b""))
    assert answered.count(b"HTTP/1.1 ") == 1
    assert answered.startswith(b"HTTP/1.1 403")


@pytest.mark.parametrize("body", ["[" * 100_000, '{"a":' * 100_000, "\ud800", "5"])
def test_a_request_that_is_no_object_is_refused(served, body):
    connection = HTTPConnection("127.0.0.1", served.server_port, timeout=60)
    sent = body.encode("utf-8", "surrogatepass")
    connection.request("POST", "/api/run", sent, {TOKEN_HEADER: served.studio.token})
    assert connection.getresponse().status == 400
    connection.close()


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/stdin", "a\0b"])
def test_devices_are_no_events(path):
    with pytest.raises(EventError, match=r"neither a file nor a folder|no file has such a name"):
        read_events(path)


def test_bad_requests_are_answered(served):
    assert ask(served, "/api/nothing", {"text": ""})[0] == 404
    assert ask(served, "/api/faults", ["text"])[0] == 400
    assert ask(served, "/api/faults", {"text": 5})[0] == 400
    assert ask(served, "/api/complete", {"text": "", "offset": "x"})[0] == 400
    huge = {TOKEN_HEADER: served.studio.token, "Content-Length": str(1 << 30)}
    assert ask(served, "/api/faults", {"text": ""}, huge)[0] == 413


def test_the_page_loads_nothing_from_elsewhere(served):
    page = ask(served, f"/?token={served.studio.token}")[1]
    assert "http://" not in page.replace("http://www.w3.org/", "")
    assert "src=" not in page
    assert "@import" not in page


def test_a_trial_that_takes_too_long_is_stopped_and_the_next_one_runs(served):
    worker = Worker(60)
    sample = served.studio.sample
    worker.prepare()
    worker.seconds = 0.0
    with pytest.raises(LimitError, match="stopped after 0 seconds"):
        worker.run("trial", THEFT, sample)
    worker.seconds = 60
    assert worker.run("trial", PAIR, sample)[0] == "found"
    worker.close()


def test_compiling_does_not_count_as_time_of_a_query():
    worker = Worker(0.1)
    ours, theirs = Pipe()
    worker._is_compiling.value = True
    Timer(0.5, theirs.send, ("compiled",)).start()
    assert worker._has_reply(ours)
    assert ours.recv() == "compiled"
    worker._is_compiling.value = False
    assert not worker._has_reply(ours)


def test_the_first_query_finds_something_in_any_events(served):
    types = list(served.studio.sample.read().types)
    found = run_trial(first_query(types), served.studio.sample)
    assert 0 < found["timeline"]["total"] <= 500
    odd = first_query(["add to cart", "2nd", "third"])
    assert odd.startswith("PATTERN SEQ(`add to cart` a, `2nd` b)\n")
    parse_script(odd)
    with pytest.raises(OptionError, match="there are no events"):
        first_query([])


def test_too_many_matches_are_an_error_and_not_a_hang(served):
    text = "PATTERN SEQ(Shelf+ a[], Shelf+ b[], Shelf+ c[])"
    status, answer = ask(served, "/api/run", {"text": text})
    assert status == 200
    assert "matches" in answer["error"]


def test_every_kind_of_query_is_tried(served):
    sample = served.studio.sample
    clause = "MATCH_RECOGNIZE (PARTITION BY tag_id ORDER BY ts MEASURES B.zone AS z PATTERN (A B))"
    rows = run_trial(clause, sample)
    assert rows["table"]["columns"] == ["tag_id", "z"]
    assert rows["table"]["total"] > 100
    script = run_trial(
        f"{PAIR.replace('a.tag_id AS item', 'Pair(item = a.tag_id)')}; EVENT Pair", sample
    )
    assert script["counts"]["Pair"] == script["counts"]["query_2"] > 0
    rule = "+++\nparameters = { W = '12 hours' }\n+++\n" + PAIR.replace("12 hours", "W")
    found = run_trial(rule, sample)
    assert found["timeline"]["total"] == script["counts"]["Pair"]
    assert (found["events"], found["isWhole"]) == (500, False)


@pytest.mark.parametrize(
    "name", ["../evil", "/etc/x", "a/../../b", "", ".hidden", "a\\..\\b", "x\n"]
)
def test_a_rule_is_saved_only_in_its_folder(tmp_path, name):
    with pytest.raises(OptionError, match="is not a name for a rule"):
        rule_file(tmp_path, name)


def test_a_rule_is_replaced_only_if_that_is_said(tmp_path):
    file = save_rule(tmp_path, "doors/busy", "EVENT A")
    assert file.read_text() == "EVENT A\n"
    with pytest.raises(OptionError, match="already"):
        save_rule(tmp_path, "doors/busy", "EVENT B")
    save_rule(tmp_path, "doors/busy", "EVENT B", replaces=True)
    assert file.read_text() == "EVENT B\n"
    assert save_rule(tmp_path, "v", "MATCH_RECOGNIZE (PATTERN (A))").suffix == ".sql"


# --- the page


@pytest.fixture
def page(served, request) -> Iterator[Any]:
    """The page in a browser; the parameter has the width of the window and the colours."""
    asked = getattr(request, "param", {})
    with opened_page(served.url, **asked) as page:
        page.set_default_timeout(60_000)
        page.wait_for_selector("body[data-done]")
        yield page


def write(page: Any, text: str) -> None:
    """Write a text, and wait until the page has tried it."""
    done = int(page.get_attribute("body", "data-done"))
    page.fill("#text", text)
    page.wait_for_selector(f"body:not([data-done='{done}'])")


def test_matches_drawing_and_diagnosis_follow_the_text(page):
    assert "the first 500 events of day.parquet" in page.inner_text("#state")
    before = page.inner_text("#summary")
    assert " matches from 2024-03-01" in before
    assert page.locator("#drawing svg").count() == 1
    assert "partial matches" in page.inner_text("#funnel")
    write(page, PAIR)
    assert page.inner_text("#summary") != before
    page.click("#match-table tr[data-ix='2']")
    assert "Match 3" in page.inner_text("#detail")
    page.click("#zoom-in")
    write(page, PAIR.replace("12 hours", "1 second"))
    assert page.inner_text("#summary").startswith("0 matches")
    assert "too late for the window" in page.inner_text("#funnel")
    write(page, "MATCH_RECOGNIZE (ORDER BY ts MEASURES B.zone AS z PATTERN (A B))")
    assert page.inner_text("#row-table tr:first-child") == "z"
    assert not page.is_visible("#timeline")


def test_faults_are_marked_and_the_last_results_stay(page):
    write(page, "PATTERN SEQ(Shelf a, Exti c) WHERE a.tagid = c.tag_id")
    assert page.inner_text("#colours .fault") == "tagid"
    assert page.inner_text("#colours .warning") == "Exti"
    assert "Did you mean 'tag_id'?" in page.inner_text("#faults")
    assert page.locator("#results.old").count() == 1
    page.click("#faults .fault")
    page.keyboard.type("tag_id")
    page.keyboard.press("Escape")
    page.wait_for_selector("#faults:not(:has(.fault)):has(.warning)")


def test_words_are_completed_and_explained(page):
    write(page, "PATTERN SEQ(Shelf a, Exit c) WHERE a")
    page.click("#text")
    page.keyboard.press("Control+End")
    page.keyboard.type(".ta")
    page.wait_for_selector("#words li.chosen")
    assert "tag_id" in page.inner_text("#words")
    page.keyboard.press("Enter")
    assert page.input_value("#text").endswith("WHERE a.tag_id")
    page.keyboard.type(" = c.ts OR skip_till_n")
    page.wait_for_selector("#words li:has-text('skip_till_next_match')")
    page.keyboard.press("Escape")
    page.click("#text", position={"x": 20, "y": 20})
    page.wait_for_selector("#hint:has-text('The events to find')")


def test_a_rule_and_its_test_are_saved_and_pass(page, served):
    page.on("dialog", lambda dialog: dialog.accept())
    write(page, PAIR.replace("WHERE ", "where "))
    page.click("#format")
    page.wait_for_selector("#colours:has-text('WHERE [tag_id]')")
    page.click("#save-rule")
    assert "name" in page.inner_text("#saved")
    page.fill("#name", "doors/pair")
    page.click("#save-rule")
    page.wait_for_selector("#saved:has-text('pair.sase')")
    page.click("#save-test")
    page.wait_for_selector("#saved:has-text('which expects')")
    folder = served.studio.rules / "doors"
    assert (folder / "pair.sase").read_text() == PAIR
    content = tomllib.loads((folder / "pair.test.toml").read_text())
    assert content["case"][0]["events"] == "../../day.parquet"
    (case,) = read_cases(folder)
    assert isinstance(case, Case)
    assert case.run().passed
    page.fill("#name", "")
    page.select_option("#open", "doors/pair")
    page.wait_for_selector("#saved:empty", state="attached")
    assert page.input_value("#text") == PAIR


@pytest.mark.parametrize("page", [{"width": 375}, {"width": 375, "colours": "dark"}], indirect=True)
def test_the_page_fits_a_phone(page):
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


def test_the_command_prints_the_address_and_ends(tmp_path):
    command = [sys.executable, "-m", "cepheid", "studio", "--no-open"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as running:
        assert running.stderr is not None
        first = running.stderr.readline()
        assert "http://127.0.0.1:" in first
        assert "token=" in first
        running.terminate()
        assert running.wait(60) == 143
