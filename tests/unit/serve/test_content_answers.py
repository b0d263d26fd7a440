"""Content over HTTP: ranges, validators, and headers that keep a browser from executing it."""

import pytest

from playhead.model.canonical import Content
from playhead_collector.errors import Refused
from playhead_collector.serve.responses import content_answer

TEN = Content(b"0123456789", "text/plain; charset=utf-8")


def ask(content: Content = TEN, **headers: str):
    return content_answer(content.ref, content, {name.replace("_", "-"): value for name, value in headers.items()})


def test_a_content_may_be_kept_for_ever_under_its_ref():
    response = ask()
    assert (response.status_code, response.body) == (200, TEN.data)
    assert response.headers["etag"] == f'"{TEN.ref}"'
    assert "immutable" in response.headers["cache-control"]
    assert "private" in response.headers["cache-control"]
    assert response.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("tags", [f'"{TEN.ref}"', f'W/"{TEN.ref}"', f'"x", "{TEN.ref}"', "*"])
def test_who_has_it_is_not_sent_it_again(tags: str):
    response = ask(if_none_match=tags)
    assert (response.status_code, response.body) == (304, b"")


def test_who_has_something_else_is_sent_it():
    assert ask(if_none_match='"x"').status_code == 200


@pytest.mark.parametrize(
    ("asked", "part", "where"),
    [
        ("bytes=0-3", b"0123", "0-3"),
        ("bytes=8-", b"89", "8-9"),
        ("bytes=-2", b"89", "8-9"),
        ("bytes=5-500", b"56789", "5-9"),
        ("bytes=-500", b"0123456789", "0-9"),
    ],
)
def test_a_range_is_a_part(asked: str, part: bytes, where: str):
    response = ask(range=asked)
    assert (response.status_code, response.body) == (206, part)
    assert response.headers["content-range"] == f"bytes {where}/10"
    assert response.headers["content-length"] == str(len(part))


@pytest.mark.parametrize("asked", ["bytes=5-3", "bytes=-", "lines=1-2", "bytes=0-1,4-5", "bytes=a-b", ""])
def test_a_range_that_is_not_understood_gives_the_whole(asked: str):
    assert ask(range=asked).body == TEN.data


@pytest.mark.parametrize("asked", ["bytes=10-", "bytes=99-100", "bytes=-0"])
def test_a_range_outside_of_it_is_refused_with_its_size(asked: str):
    with pytest.raises(Refused) as refused:
        ask(range=asked)
    assert (refused.value.status, refused.value.headers) == (416, {"content-range": "bytes */10"})


def test_a_range_of_another_version_gives_the_whole():
    assert ask(range="bytes=0-1", if_range='"x"').status_code == 200
    assert ask(range="bytes=0-1", if_range=f'"{TEN.ref}"').status_code == 206


@pytest.mark.parametrize("media", ["text/html", "image/svg+xml", "application/javascript", "application/xhtml+xml"])
def test_a_browser_does_not_execute_it(media: str):
    headers = ask(Content(b"<script>", media)).headers
    assert headers["content-disposition"].startswith("attachment")
    assert headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("media", ["image/png", "application/json", "text/plain; charset=utf-8"])
def test_a_browser_may_show_what_runs_nothing(media: str):
    assert ask(Content(b"x", media)).headers["content-disposition"].startswith("inline")


@pytest.mark.parametrize("media", ["", "x", "text/html\r\nset-cookie: a=b", "é/é", "text/plain; a=b; c"])
def test_a_media_type_that_is_none_is_sent_as_bytes(media: str):
    assert ask(Content(b"x", media)).headers["content-type"] == "application/octet-stream"
