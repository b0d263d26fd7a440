import asyncio
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

import asyncpg
import psutil
import pytest

from playhead_collector import embedded
from playhead_collector.embedded import cluster as on_disk
from playhead_collector.embedded import postgres
from playhead_collector.embedded.postgres import MAX_RESTARTS, supervise
from playhead_collector.errors import AlreadyRunning, EmbeddedPostgresFailed
from tests.support.processor_time import assert_takes_less_than, elapsed_seconds


@contextmanager
def open_folder() -> Iterator[Path]:
    # Not tmp_path: its parents are closed to others, and as root Postgres runs as somebody else.
    folder = Path(tempfile.mkdtemp(prefix="playhead-embedded-"))
    folder.chmod(0o711)
    yield folder
    assert processes(folder) == []
    shutil.rmtree(folder)


@pytest.fixture
def new_data_dir() -> Iterator[Path]:
    """A place where nothing is yet."""
    with open_folder() as folder:
        yield folder / "data"


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    with open_folder() as folder:
        embedded.start(folder / "data").stop()
        yield folder / "data"


@pytest.fixture
def data_dir(made: Path) -> Iterator[Path]:
    """A data directory that the tests before have used, too, as making a cluster takes longer than most of them."""
    yield made
    assert processes(made.parent) == []


def processes(folder: Path) -> list[psutil.Process]:
    return [p for p in psutil.process_iter(["cwd"]) if str(p.info["cwd"]).startswith(str(folder))]


async def ask(dsn: str, query: str):
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


def collector(data_dir: Path, then: str) -> subprocess.Popen[str]:
    """A process that starts Postgres there, says its address, and goes on with `then`."""
    program = (
        "import os, signal, sys, time\nfrom pathlib import Path\nfrom playhead_collector import embedded\n"
        f"server = embedded.start(Path(sys.argv[1]))\nprint(server.dsn, flush=True)\n{then}\n"
    )
    paths = os.pathsep.join(path for path in sys.path if path)
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program, str(data_dir)],
        env={**os.environ, "PYTHONPATH": paths}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


async def test_it_answers_and_is_gone_after_stop(new_data_dir: Path):
    server = embedded.start(new_data_dir)
    assert (await ask(server.dsn, "select version()")).startswith("PostgreSQL ")
    server.stop()
    assert processes(new_data_dir) == []
    server.stop()  # a second time is harmless


async def test_what_was_written_is_there_at_the_next_start(data_dir: Path):
    with embedded.start(data_dir) as server:
        await ask(server.dsn, "create table written as select 7 as x")
    with embedded.start(data_dir) as server:
        assert await ask(server.dsn, "select x from written") == 7


async def test_acknowledged_means_durable(data_dir: Path):
    with embedded.start(data_dir) as server:
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            assert await ask(server.dsn, f"show {name}") == "on"


async def test_nobody_gets_at_it_over_the_network_or_from_another_account(data_dir: Path):
    with embedded.start(data_dir) as server:
        assert await ask(server.dsn, "show listen_addresses") == ""
        assert (data_dir / "postgres").stat().st_mode & 0o077 == 0
        assert (data_dir / "postgres" / ".s.PGSQL.5432").stat().st_mode & 0o077 == 0


async def test_options_win_over_our_tuning(data_dir: Path):
    with embedded.start(data_dir, options={"work_mem": "5MB"}) as server:
        assert await ask(server.dsn, "show work_mem") == "5MB"


async def test_variables_of_another_postgres_do_not_redirect_it(data_dir: Path, monkeypatch: pytest.MonkeyPatch):
    for name, value in {"PGPORT": "1", "PGHOST": "nowhere", "PGUSER": "me", "PGSSLMODE": "verify-full"}.items():
        monkeypatch.setenv(name, value)
    with embedded.start(data_dir) as server:
        assert await ask(server.dsn, "select current_user") == "postgres"


def test_a_second_one_on_the_same_folder_is_told_who_is_there(data_dir: Path):
    with embedded.start(data_dir), pytest.raises(AlreadyRunning, match=rf"process {os.getpid()}\).*PLAYHEAD_DATA_DIR"):
        embedded.start(data_dir)


async def test_two_folders_do_not_disturb_each_other(data_dir: Path, new_data_dir: Path):
    with embedded.start(data_dir) as first, embedded.start(new_data_dir) as second:
        await ask(first.dsn, "create table only_here ()")
        assert await ask(second.dsn, "select to_regclass('only_here')") is None


async def test_after_kill_9_the_next_start_takes_over_and_nothing_is_lost(data_dir: Path):
    killed = collector(data_dir, "time.sleep(600)")
    assert killed.stdout
    with killed:
        await ask(killed.stdout.readline().strip(), "create table before_kill as select 7 as x")
        killed.kill()
    left = processes(data_dir)
    assert left, "Postgres goes on, since nobody could tell it to stop"
    with embedded.start(data_dir) as server:
        assert await ask(server.dsn, "select x from before_kill") == 7
        assert not {p.pid for p in left} & {p.pid for p in processes(data_dir)}


async def test_after_a_crash_of_everything_the_log_is_replayed(data_dir: Path):
    killed = collector(data_dir, "time.sleep(600)")
    assert killed.stdout
    with killed:
        await ask(killed.stdout.readline().strip(), "create table before_crash as select 7 as x")
        killed.kill()
    for process in processes(data_dir):
        with suppress(psutil.NoSuchProcess):  # without the first one, the others end by themselves
            process.kill()
    with embedded.start(data_dir) as server:
        assert await ask(server.dsn, "select x from before_crash") == 7


def test_a_process_number_that_now_is_a_strangers_does_no_harm(data_dir: Path):
    embedded.start(data_dir).stop()
    with subprocess.Popen(["sleep", "60"]) as stranger:
        (data_dir / "postgres" / "postmaster.pid").write_text(f"{stranger.pid}\n{data_dir}\n1\n5432\n\n\n1 1\nready\n")
        with embedded.start(data_dir):
            assert stranger.poll() is None
        stranger.kill()


@pytest.mark.parametrize("ending", ["sys.exit()", "raise KeyboardInterrupt", "del server; time.sleep(0.1)"])
def test_it_ends_with_its_program(data_dir: Path, ending: str):
    with collector(data_dir, ending) as program:
        program.communicate(timeout=300)
    assert processes(data_dir) == []


def test_a_forked_child_that_ends_does_not_take_it_along(data_dir: Path):
    then = "if os.fork() == 0: sys.exit()\nos.wait(); print(os.path.exists(f'/proc/{server.pid}'), flush=True)"
    with collector(data_dir, then) as program:
        said, _ = program.communicate(timeout=300)
    if Path("/proc").exists():
        assert said.split()[-1] == "True"


def test_ctrl_c_in_a_terminal_does_not_reach_it(data_dir: Path):
    with embedded.start(data_dir) as server:
        assert os.getsid(server.pid) == server.pid


@pytest.mark.parametrize(
    "name", ["with space", "comma, 'quote' \"double\" = $HOME", "ünïcödé", "deep/" + "/".join(["0123456789" * 4] * 4)]
)
async def test_any_folder_will_do(new_data_dir: Path, name: str):
    with embedded.start(new_data_dir / name) as server:
        assert await ask(server.dsn, "select 1") == 1
        folder = Path(await ask(server.dsn, "show unix_socket_directories"))
    if not str(folder).strip('"').startswith(str(new_data_dir)):
        assert not Path(str(folder).strip('"')).exists(), "a folder made for the socket goes with it"


def test_a_half_made_cluster_is_made_again(new_data_dir: Path):
    (new_data_dir / "postgres.new" / "base").mkdir(parents=True)
    embedded.start(new_data_dir).stop()
    assert not (new_data_dir / "postgres.new").exists()


def test_why_a_cluster_cannot_be_made_is_said(new_data_dir: Path, monkeypatch: pytest.MonkeyPatch):
    """In whichever line of initdb it stands."""
    programs = new_data_dir.parent / "programs"
    programs.mkdir()
    said = "echo 'FATAL:  No space left on device' >&2; echo 'initdb: removing contents' >&2; exit 1"
    (programs / "initdb").write_text(f"#!/bin/sh\n{said}\n")
    (programs / "initdb").chmod(0o755)
    (programs / "postgres").touch(0o755)
    monkeypatch.setattr(on_disk, "binaries", lambda major=None: programs)
    with pytest.raises(EmbeddedPostgresFailed, match="No space left on device.*PLAYHEAD_DATABASE_URL"):
        embedded.start(new_data_dir)


def test_a_folder_that_cannot_be_is_named(new_data_dir: Path):
    new_data_dir.parent.joinpath("file").write_text("")
    with pytest.raises(EmbeddedPostgresFailed, match="PLAYHEAD_DATA_DIR"):
        embedded.start(new_data_dir.parent / "file" / "data")


def test_a_postgres_that_does_not_start_says_why_and_lets_go_of_the_folder(data_dir: Path):
    with pytest.raises(EmbeddedPostgresFailed, match="no_such_setting"):
        embedded.start(data_dir, options={"no_such_setting": "1"})
    embedded.start(data_dir).stop()


def test_data_of_a_version_that_is_not_carried_is_left_alone(new_data_dir: Path):
    embedded.start(new_data_dir).stop()
    (new_data_dir / "postgres" / "PG_VERSION").write_text("9\n")
    with pytest.raises(EmbeddedPostgresFailed, match="Postgres 9.*pg_dump"):
        embedded.start(new_data_dir)


def test_without_the_wheel_it_says_what_to_install(new_data_dir: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(on_disk.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EmbeddedPostgresFailed, match="PLAYHEAD_DATABASE_URL.*playhead\\[collector\\]"):
        embedded.start(new_data_dir)


def test_its_log_begins_anew_when_it_is_long(data_dir: Path, monkeypatch: pytest.MonkeyPatch):
    embedded.start(data_dir).stop()
    monkeypatch.setattr(postgres, "LOG_BYTES", 10)
    log = data_dir / "postgres.log"
    log.write_text("old line\n" * 10)
    embedded.start(data_dir).stop()
    assert "old line" not in log.read_text()


async def test_its_log_has_no_values(data_dir: Path):
    with embedded.start(data_dir) as server:
        await ask(server.dsn, "create table t_values as select 'a prompt' as x")
        await ask(server.dsn, "create unique index on t_values (x)")
        with pytest.raises(asyncpg.UniqueViolationError):
            await ask(server.dsn, "insert into t_values values ('a prompt')")
    assert "a prompt" not in (data_dir / "postgres.log").read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody else")
def test_a_normal_user_runs_it_as_themselves(new_data_dir: Path):
    new_data_dir.mkdir()
    account = on_disk.account_for(new_data_dir)
    os.chown(new_data_dir, account.uid, account.gid)
    if any(not parent.stat().st_mode & 0o001 for parent in Path(sys.executable).resolve().parents):
        pytest.skip("this Python is closed to other accounts, and opening it is not a test's business")
    program = (
        "import sys; from pathlib import Path; from playhead_collector import embedded\n"
        "with embedded.start(Path(sys.argv[1])) as server: print(Path(server.dsn.split('=')[1]).owner())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(new_data_dir)],
        user=account.uid, group=account.gid, extra_groups=(), cwd=new_data_dir,
        capture_output=True, text=True, check=False,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )  # fmt: skip
    assert (done.stdout.strip(), done.stderr) == (pwd.getpwuid(account.uid).pw_name, "")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_root_opens_nothing_and_makes_no_account(new_data_dir: Path):
    accounts = Path("/etc/passwd").read_bytes()
    new_data_dir.parent.chmod(0o700)
    with pytest.raises(EmbeddedPostgresFailed, match=f"may not pass {new_data_dir.parent} .*set PLAYHEAD_DATA_DIR"):
        embedded.start(new_data_dir)
    assert new_data_dir.parent.stat().st_mode & 0o777 == 0o700
    new_data_dir.parent.chmod(0o711)
    embedded.start(new_data_dir).stop()
    assert (new_data_dir.parent.stat().st_mode & 0o777, new_data_dir.stat().st_mode & 0o777) == (0o711, 0o701)
    assert Path("/etc/passwd").read_bytes() == accounts


async def test_after_its_postmaster_is_killed_it_is_there_again_at_the_same_address(data_dir: Path):
    with embedded.start(data_dir) as server:
        await ask(server.dsn, "create table restarted (x int)")
        watching = asyncio.create_task(supervise(server, every_seconds=0.02))
        before = server.pid
        os.kill(before, signal.SIGKILL)
        while server.pid == before or not server.is_running:
            assert not watching.done()
            await asyncio.sleep(0.02)
        while True:
            try:
                assert await ask(server.dsn, "select count(*) from restarted") == 0
                break
            except (OSError, asyncpg.PostgresError):
                await asyncio.sleep(0.02)
        watching.cancel()
    server.restart()  # stopped for good: nothing
    assert processes(data_dir) == []


async def test_a_postgres_that_ends_again_and_again_ends_the_watch():
    class Broken:
        is_running = False
        restarts = 0

        def restart(self) -> None:
            self.restarts += 1

    broken, now = Broken(), iter(range(10_000))
    with pytest.raises(EmbeddedPostgresFailed, match="ended 6 times in 10 minutes: see postgres.log"):
        await supervise(broken, clock=lambda: float(next(now)), every_seconds=0)
    assert broken.restarts == MAX_RESTARTS


async def test_a_postgres_that_ends_now_and_then_is_started_again_each_time():
    class Unlucky:
        is_running = False
        restarts = 0

        def restart(self) -> None:
            self.restarts += 1
            if self.restarts == 12:
                raise EmbeddedPostgresFailed("the disk is full: make room")

    unlucky, now = Unlucky(), iter(range(0, 1_000_000, 200))
    with pytest.raises(EmbeddedPostgresFailed, match="the disk is full"):
        await supervise(unlucky, clock=lambda: float(next(now)), every_seconds=0)
    assert unlucky.restarts == 12


def test_the_start_is_quick(new_data_dir: Path):
    folders = (new_data_dir / str(number) for number in count())
    # 0.6 s on two quiet cores; this is to notice a wait, not a slow machine.
    assert_takes_less_than(20, lambda: embedded.start(next(folders)).stop(), elapsed_seconds)


def test_a_stubborn_process_is_ended_in_the_end(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    monkeypatch.setattr(postgres, "STOP_SECONDS", 0.1)
    deaf = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print('.', flush=True); time.sleep(60)"
    process = psutil.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE)
    process.stdout.readline()
    postgres._end_process(process)
    process.stdout.close()
    assert process.poll() == -signal.SIGQUIT
    assert "did not end on SIGINT" in caplog.text


async def test_it_can_be_started_beside_a_running_loop(data_dir: Path):
    server = await asyncio.to_thread(embedded.start, data_dir)
    assert await ask(server.dsn, "select 1") == 1
    await asyncio.to_thread(server.stop)
