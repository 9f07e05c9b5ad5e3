"""Serve the six tools to one person on this machine: `make app`.

Voilà, with what a page needs that takes confidential tables: its address carries a token, requests under any other name
than this machine's are refused (a hostile page could otherwise give its own name this machine's address), few kernels
run at a time and idle ones end, and whatever a kernel writes lies in a folder of its own that is removed with it. What
a killed server left behind is removed at the next start.
"""

import argparse
import fcntl
import logging
import os
import secrets
import shutil
import signal
import sys
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager
from tornado.web import ErrorHandler, HTTPError
from traitlets.config import Config
from voila.app import Voila

ROOT = Path(__file__).resolve().parent.parent
KERNELS = 4  # at a time; each page is one, of some hundred megabytes
IDLE = 3600  # seconds until an idle kernel ends, though its page is open
SLOWEST_START = timedelta(minutes=5)  # a kernel that has not begun by then never will
NAMES = ("127.0.0.1", "localhost")


# ---------------------------------------------------------------- folders of sessions


def base_folder():
    "The user's own folder for the folders of servers; nobody else may look into it."
    folder = Path(tempfile.gettempdir()) / f"dp-bayes-app-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = os.lstat(folder)
    if folder.is_symlink() or not folder.is_dir() or found.st_uid != os.getuid() or found.st_mode & 0o077:
        sys.exit(f"{folder} must be a folder of yours that nobody else can read; remove it")
    return folder


def server_folder(base):
    """A new folder for this server, locked while it lives, and the descriptor of the lock;
    folders without a living server are removed.
    """
    with open(base / ".lock", "w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)  # no other server is between making its folder and locking it
        for old in base.glob("server-*"):
            descriptor = os.open(old, os.O_RDONLY | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(old, ignore_errors=True)
            except BlockingIOError:
                pass  # its server runs
            finally:
                os.close(descriptor)
        folder = Path(tempfile.mkdtemp(dir=base, prefix="server-"))
        held = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        fcntl.flock(held, fcntl.LOCK_EX)
    return folder, held


# ---------------------------------------------------------------- kernels


class Kernels(AsyncMappingKernelManager):
    "At most `KERNELS` kernels, each with a folder for temporary files that is removed when it ends."

    folder = Path(tempfile.gettempdir())  # of the server
    most = KERNELS
    starting = 0

    async def _async_start_kernel(self, *, env=None, **options):
        if len(self) + self.starting >= self.most:
            raise HTTPError(503,
                            reason=f"{self.most} pages are open, which is the most; close one and load this page again")
        self.starting += 1
        own = tempfile.mkdtemp(dir=self.folder, prefix="session-")
        try:
            kernel_id = await super()._async_start_kernel(env={**(os.environ if env is None else env), "TMPDIR": own},
                                                          **options)
        except BaseException:
            shutil.rmtree(own, ignore_errors=True)
            raise
        finally:
            self.starting -= 1
        self.folders = {**getattr(self, "folders", {}), kernel_id: own}
        return kernel_id

    start_kernel = _async_start_kernel

    async def cull_kernel_if_idle(self, kernel_id):
        "End an idle kernel; one that has yet to begin is not idle, unless it takes longer than any machine needs."
        kernel = self._kernels[kernel_id]
        if getattr(kernel, "execution_state", None) == "starting":
            since = datetime.now(timezone.utc) - getattr(kernel, "last_activity", datetime.now(timezone.utc))
            if since < SLOWEST_START:
                return
        await super().cull_kernel_if_idle(kernel_id)

    def remove_kernel(self, kernel_id):
        "Forget a kernel, and remove its folder."
        own = getattr(self, "folders", {}).pop(kernel_id, None)
        if own is not None:
            shutil.rmtree(own, ignore_errors=True)
        return super().remove_kernel(kernel_id)


# ---------------------------------------------------------------- the server


class App(Voila):
    "Voilà that answers to this machine's names only, and says its address with the token."

    def listen(self):
        "Refuse requests that were sent to another name, whatever they ask for; then listen."
        find = self.app.find_handler

        def find_handler(request, **options):
            if request.host not in {f"{name}:{self.port}" for name in NAMES}:
                return self.app.get_handler_delegate(request, ErrorHandler, {"status_code": 403})
            return find(request, **options)

        self.app.find_handler = find_handler
        super().listen()

    def init_settings(self):
        "Voilà's settings, without its permission to be reached under any name."
        return {**super().init_settings(), "allow_remote_access": False, "local_hostnames": list(NAMES)}


def settings(port, token, folder, idle=IDLE):
    "The configuration of a server."
    config = Config()
    config.Voila.update(ip="127.0.0.1", port=port, port_retries=0, open_browser=False, token=token,
                        connection_dir_root=str(folder))
    config.VoilaConfiguration.update(template="dp_bayes_nb", multi_kernel_manager_class=Kernels, file_allowlist=[],
                                     file_denylist=[".*"])
    config.MappingKernelManager.update(cull_idle_timeout=idle, cull_interval=max(1, min(60, idle // 2)),
                                       cull_connected=True)
    return config


def unsaid(token):
    "Leave the token out of whatever is logged: servers log addresses, and this is in one."
    make = logging.getLogRecordFactory()

    def record(*args, **options):
        made = make(*args, **options)
        try:
            said = made.getMessage()
        except Exception:  # a message that does not fit its arguments; the handler will say so
            return made
        if token in said:
            made.msg, made.args = said.replace(token, "[token]"), ()
        return made

    logging.setLogRecordFactory(record)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8866)
    parser.add_argument("--kernels", type=int, default=KERNELS, help=f"pages at a time (default: {KERNELS})")
    parser.add_argument("--idle", type=int, default=IDLE,
                        help=f"seconds until an idle page's kernel ends (default: {IDLE})")
    parser.add_argument("notebook", nargs="?", default="app/app.ipynb", help="another notebook, for tests")
    args = parser.parse_args()
    os.chdir(ROOT)
    os.environ["JUPYTER_PATH"] = str(ROOT / "app")  # its template, which loads nothing from outside
    base = base_folder()
    folder, held = server_folder(base)
    Kernels.folder, Kernels.most = folder, args.kernels
    token = secrets.token_urlsafe(32)
    unsaid(token)
    os.environ.pop("JUPYTER_TOKEN", None)
    app = App(config=settings(args.port, token, folder, args.idle))
    for end in (signal.SIGINT, signal.SIGTERM):  # both tidy up, also where a shell that started this ignores one
        signal.signal(end, signal.default_int_handler)
    try:
        app.initialize([args.notebook])
        print(f"The tools are at http://127.0.0.1:{args.port}/?token={token} in a moment; stop them with Ctrl-C",
              flush=True)
        app.start()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


if __name__ == "__main__":
    main()
