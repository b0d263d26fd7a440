"""The web UI as the collector sends it: headers, assets, path prefix, and what is said when it is not built."""

import gzip
import re
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI

from playhead_collector.serve.browser.pages import UiFiles, is_ui_path, prefix

ROOT = Path(__file__).parents[3]


@pytest.fixture
def built(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text(
        '<!doctype html><html><head><script src="./assets/a-1.js"></script></head></html>'
    )
    (tmp_path / "assets" / "a-1.js").write_text("let a = 1;")
    return tmp_path


def asking(folder: Path) -> httpx.AsyncClient:
    app = FastAPI()
    app.include_router(UiFiles(folder).router())
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1")


# The pages that the UI itself knows, with something in the place of their parameters.
PAGES = sorted(
    re.sub(r":\w+", "abc", path)
    for path in re.findall(r'<Route path="([^"]+)"', (ROOT / "collector" / "ui" / "src" / "App.tsx").read_text("utf-8"))
)


def test_the_pages_are_found():
    assert len(PAGES) > 9
    assert "/compare/abc/abc" in PAGES


@pytest.mark.parametrize("path", PAGES)
async def test_every_address_of_the_ui_is_the_page_with_a_strict_policy(built: Path, path: str):
    async with asking(built) as client:
        answer = await client.get(path)
        policy = answer.headers["content-security-policy"]
        assert answer.text.startswith('<!doctype html><html><head><base href="/" /><script')
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["cache-control"] == "no-cache"
        assert is_ui_path(path)


async def test_assets_are_kept_for_ever_and_sent_small_to_those_who_take_it(built: Path):
    async with asking(built) as client:
        small = await client.get("/assets/a-1.js", headers={"accept-encoding": "gzip"})
        plain = await client.get("/assets/a-1.js", headers={"accept-encoding": "identity"})
        assert (small.text, plain.text) == ("let a = 1;", "let a = 1;")
        assert small.headers["content-encoding"] == "gzip"
        assert "content-encoding" not in plain.headers
        assert "immutable" in plain.headers["cache-control"]
        assert plain.headers["x-content-type-options"] == "nosniff"
        assert plain.headers["content-type"].startswith(("text/javascript", "application/javascript"))
        assert (await client.get("/assets/b-2.js")).status_code == 404
        assert (await client.get("/assets/..%2findex.html")).status_code == 404
        assert gzip.decompress(gzip.compress(b"let a = 1;")) == plain.content


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("/traces", "/traces"), ("/a/b/", "/a/b"), ("", ""), ("/", ""), ("traces", ""), ("//evil.example", ""),
        ('/"><script>', ""), ("/a/../b", ""), ("/a\n", ""), ("https://evil.example", ""),
    ],
)  # fmt: skip
async def test_a_proxys_prefix_is_taken_only_when_it_is_a_plain_path(built: Path, given: str, taken: str):
    assert prefix({"x-forwarded-prefix": given}) == taken
    if "\n" not in given:
        async with asking(built) as client:
            answer = await client.get("/", headers={"x-forwarded-prefix": given})
            assert f'<base href="{taken}/" />' in answer.text


async def test_a_checkout_that_never_built_it_says_how(tmp_path: Path):
    async with asking(tmp_path) as client:
        answer = await client.get("/")
        assert (answer.status_code, "make ui" in answer.text) == (404, True)


@pytest.mark.parametrize("path", ["/api/v1/runs", "/v1/traces", "/metrics", "/runsx", "/assetsx"])
def test_nothing_else_is_the_ui(path: str):
    assert not is_ui_path(path)
