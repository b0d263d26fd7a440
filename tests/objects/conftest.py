"""Tests of the object store over HTTP, with an environment of their own: `make test-objects` (pyproject's groups).

In any other environment nothing here is collected.
"""

import gc
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

IS_HERE = find_spec("moto") is not None and find_spec("nanio") is not None
collect_ignore_glob = [] if IS_HERE else ["*"]

KEY, SECRET, BUCKET = "AKIAEXAMPLE", "a-secret", "playhead"


def pytest_configure(config: pytest.Config) -> None:
    if IS_HERE:
        # Warnings of these servers' packages are not ours to mend; those of our own modules stay errors.
        config.addinivalue_line("filterwarnings", "ignore")
        config.addinivalue_line("filterwarnings", "error:::playhead")


@pytest.fixture(autouse=True, scope="session")
def what_packages_leave_open_is_found_in_a_test() -> Iterator[None]:
    """At the end of the session their warnings would be errors: filters that are added above hold for tests alone."""
    yield
    gc.collect()


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an operator sets them."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "us-east-1")


@pytest.fixture
def moto_url() -> Iterator[str]:
    """S3 as moto plays it, with an empty bucket: ranges, bulk deletion and create-only work; any secret does."""
    import httpx
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    httpx.post(f"{url}/moto-api/reset", trust_env=False, timeout=60)
    httpx.put(f"{url}/{BUCKET}", trust_env=False, timeout=60)
    yield url
    server.stop()


@pytest.fixture
def nanio_url(tmp_path: Path) -> Iterator[str]:
    """S3 on a folder by nanio, with an empty bucket: it checks signatures; it knows no create-only."""
    import uvicorn
    from nanio.app import build_app
    from nanio.auth.credentials import StaticCredentialResolver
    from nanio.config import Settings

    (tmp_path / "nanio" / BUCKET).mkdir(parents=True)
    app = build_app(Settings(data_dir=tmp_path / "nanio", credentials=StaticCredentialResolver({KEY: SECRET})))
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error")
    socket = config.bind_socket()
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]})
    thread.start()
    yield f"http://127.0.0.1:{socket.getsockname()[1]}"
    server.should_exit = True
    thread.join()
    socket.close()


@pytest.fixture(params=["moto", "nanio"])
def s3_url(request: pytest.FixtureRequest) -> str:
    """Each of them."""
    return request.getfixturevalue(f"{request.param}_url")
