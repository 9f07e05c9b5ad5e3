"""Who may ask the app's server for what: names, tokens, origins; how many kernels; and what is left when one ends.

Requests are made on the loopback address as a hostile page or a curious neighbour would make them, at a small notebook
in the place of the app's. No browser is needed; what the page does is in test_app.py.
"""

import asyncio
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("voila", reason="Voilà is not installed: pip install -e '.[app]'")
from tornado.httpclient import HTTPClientError, HTTPRequest  # noqa: E402
from tornado.websocket import websocket_connect  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
CELL = (
    "import tempfile\nfrom pathlib import Path\nPath(tempfile.gettempdir(), "
    "'upload.csv').write_text('confidential')\nprint('this is', 'the page')")
NOTEBOOK = {"cells": [{"cell_type": "code", "id": "a0", "metadata": {}, "source": CELL, "execution_count": None,
                       "outputs": []}],
            "metadata": {"kernelspec": {"display_name": "python3", "language": "python", "name": "python3"}},
            "nbformat": 4, "nbformat_minor": 5}


class Server:
    "A server of the small notebook in a process of its own, with its temporary files in a folder."

    def __init__(self, folder, *options):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.folder = folder
        notebook = folder / "small.ipynb"
        notebook.write_text(json.dumps(NOTEBOOK))
        self.log = folder / "log"
        command = [sys.executable, "tools/app.py", "--port", str(self.port), *options, str(notebook)]
        log = open(self.log, "a")  # of several servers of one folder
        self.process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "TMPDIR": str(folder)}, text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        log.close()
        said = self.process.stdout.readline()
        self.token = re.search(rf"http://127\.0\.0\.1:{self.port}/\?token=([-\w]{{40,}}) ", said)[1]
        for _ in range(600):
            try:
                self.ask("/voila/static/voila.js")
                return
            except ConnectionRefusedError:
                assert self.process.poll() is None
                time.sleep(0.1)
        raise AssertionError("the server does not listen")

    def ask(self, path, method="GET", token=False, **headers):
        "Status, headers and text of an answer."
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path,
                           headers={**headers, **({"Authorization": f"token {self.token}"} if token else {})})
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace")
        connection.close()
        return answer.status, answer.headers, text

    def page(self):
        "The page, and the id of its kernel."
        status, _, text = self.ask(f"/?token={self.token}")
        assert status == 200 and "this is the page" in text, (status, text[-2000:])
        return re.search(r'"kernelId": ?"([-0-9a-f]{36})"', text)[1]

    def sessions(self):
        "The folders of its kernels."
        return sorted(self.folder.glob("dp-bayes-app-*/server-*/session-*"))

    def end(self, how=signal.SIGINT):
        self.process.send_signal(how)
        self.process.wait(60)
        self.process.stdout.close()


def wait_for(condition, seconds=90):
    "Whether something becomes true."
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.2)
    return condition()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    served = Server(tmp_path_factory.mktemp("app"), "--kernels", "2")
    yield served
    served.end()
    assert not list(served.folder.glob("dp-bayes-app-*/server-*")), "the server left something behind"


@pytest.fixture(scope="module")
def kernel(server):
    return server.page()


@pytest.mark.parametrize("path", ["/", "/?token=TOKEN", "/login", "/voila/static/voila.js", "/api/kernels/KERNEL",
                                  "/api/kernels/KERNEL/channels",
                                  "/voila/files/app/app.ipynb", "/nothing"])
@pytest.mark.parametrize("host", ["evil.example", "evil.example:PORT", "127.0.0.1.evil.example:PORT", "localhost",
                                  "127.0.0.1:1", "[::1]:PORT", "0.0.0.0:PORT"])
def test_another_name_is_refused_whatever_is_asked(server, kernel, path, host):
    "DNS rebinding: a hostile page gives its own name this machine's address, and the browser sends that name."
    path, host = path.replace("TOKEN", server.token).replace("KERNEL", kernel), host.replace("PORT", str(server.port))
    status, _, text = server.ask(path, token=True, Host=host)
    assert status == 403 and "this is the page" not in text


def test_the_token_is_the_key(server, kernel):
    before = server.sessions()
    for path in ("/", "/?token=", "/?token=wrong", f"/?token={server.token[:-1]}", f"/?token={server.token}x"):
        status, headers, text = server.ask(path)
        assert status in (302, 403) and "this is the page" not in text, (path, status)
        assert status == 403 or headers["Location"].startswith("/login")
    assert server.ask(f"/api/kernels/{kernel}")[0] in (302, 403)
    assert server.ask(f"/api/kernels/{kernel}", "DELETE")[0] in (302, 403)
    assert server.ask(f"/voila/api/shutdown/{kernel}", "POST")[0] in (302, 403)
    assert server.sessions() == before, "a request without the token started a kernel, or ended one"
    assert server.ask(f"/api/kernels/{kernel}?token={server.token}", Host=f"localhost:{server.port}")[0] == 200


def test_files_are_not_served(server, kernel):
    for path in ("/voila/files/app/app.ipynb", "/voila/files/settings.ini", "/voila/files/../settings.ini"):
        assert server.ask(path, token=True)[0] in (403, 404), path


def shake(server, kernel, cookie, **headers):
    "The status of a websocket's handshake to a kernel: 101 where it is let in."
    async def go():
        address = f"ws://127.0.0.1:{server.port}/api/kernels/{kernel}/channels"
        try:
            (await websocket_connect(HTTPRequest(address, headers={"Cookie": cookie, **headers},
                                                 connect_timeout=60))).close()
        except HTTPClientError as error:
            return error.code
        return 101
    return asyncio.run(go())


def test_a_foreign_page_cannot_speak_to_a_kernel(server, kernel):
    "A browser that has been on the app's page sends its cookie along, whichever page asks."
    own = f"http://127.0.0.1:{server.port}"
    cookie = "; ".join(c.split(";")[0]
                       for c in server.ask(f"/api/kernels/{kernel}?token={server.token}")[1].get_all("Set-Cookie"))
    assert cookie.startswith("username-127-0-0-1") and shake(server, kernel, cookie, Origin=own) == 101
    for refused in (dict(Origin="http://evil.example"), dict(Origin="null"),
                    dict(Origin=f"http://127.0.0.1:{server.port + 1}"),
                    dict(Origin=own, Cookie="none"), dict(Origin="http://evil.example", Host="evil.example")):
        assert shake(server, kernel, cookie, **refused) in (302, 403), refused


def test_one_page_too_many_is_refused_with_a_reason(server, kernel):
    while len(server.sessions()) < 2:
        another = server.page()
    status, _, text = server.ask(f"/?token={server.token}")
    assert status == 503 and "2 pages are open, which is the most; close one and load this page again" in text
    assert "Traceback" not in text and len(server.sessions()) == 2
    assert wait_for(lambda: "503" in server.log.read_text()), "it is logged"
    assert server.token not in server.log.read_text(), "with the address, but without the token"
    assert server.ask(f"/api/kernels/{another}", "DELETE", token=True)[0] == 204
    assert wait_for(lambda: len(server.sessions()) == 1)
    server.page()


def test_a_session_is_private_and_ends_with_its_kernel(tmp_path):
    served = Server(tmp_path, "--idle", "6")  # seconds: between the start and the first cell a busy machine takes some
    try:
        served.page()
        (own,) = served.sessions()
        assert (own / "upload.csv").read_text() == "confidential"
        for folder in (own, own.parent, own.parent.parent):
            assert folder.stat().st_mode & 0o077 == 0, folder
        assert wait_for(lambda: not served.sessions()), "an idle kernel was not ended"
    finally:
        served.end()
    assert not list(tmp_path.glob("dp-bayes-app-*/server-*"))


def test_what_a_killed_server_left_is_removed_at_the_next_start(tmp_path):
    first, second = Server(tmp_path), Server(tmp_path)
    try:
        first.page(), second.page()
        (left,
         kept) = (next(s for s in served.folder.glob("dp-bayes-app-*/server-*/session-*") if s.parent.name == name)
                        for served, name in ((first, owner(first)), (second, owner(second))))
        first.end(signal.SIGKILL)
        assert (left / "upload.csv").exists()
        third = Server(tmp_path)
        third.end()
        assert not left.exists() and (kept / "upload.csv").exists(), "only the folder of the dead server goes"
        second.end(signal.SIGTERM)
        assert not list(tmp_path.glob("dp-bayes-app-*/server-*")), "and nothing is left of one that is told to end"
    finally:
        second.end()


@pytest.mark.slow  # in the quick set: at the end of the test above
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_server_that_is_told_to_end_leaves_nothing(tmp_path, how):
    served = Server(tmp_path)
    served.page()
    served.end(how)
    assert not list(tmp_path.glob("dp-bayes-app-*/server-*"))


def owner(served):
    "The name of a server's folder: the one that its process holds open."
    held = [os.readlink(link) for link in Path(f"/proc/{served.process.pid}/fd").iterdir() if link.is_symlink()]
    return next(Path(path).name for path in held if Path(path).name.startswith("server-"))


@pytest.mark.parametrize("state, minutes, ended", [("starting", 1, False), ("starting", 10, True), ("idle", 1, True)])
def test_a_kernel_that_starts_is_given_time_but_not_forever(monkeypatch, state, minutes, ended):
    monkeypatch.syspath_prepend(ROOT / "tools")
    app = __import__("app")
    asked = []

    async def cull(self, kernel_id):
        asked.append(kernel_id)

    monkeypatch.setattr(app.AsyncMappingKernelManager, "cull_kernel_if_idle", cull)
    kernels = app.Kernels()
    since = datetime.now(timezone.utc) - timedelta(minutes=minutes)
    kernels._kernels["one"] = SimpleNamespace(execution_state=state, last_activity=since)
    asyncio.run(kernels.cull_kernel_if_idle("one"))
    assert asked == ["one"] * ended
