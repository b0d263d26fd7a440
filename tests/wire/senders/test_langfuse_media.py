"""Langfuse's SDK, with only its address changed, uploads images to a collector; contexts show them."""

import base64
import hashlib
from collections.abc import Iterator
from typing import Any, cast
from uuid import uuid4

import httpx
import pytest
from langfuse import Langfuse
from langfuse.media import LangfuseMedia
from opentelemetry.sdk.trace import TracerProvider

from playhead.dialect.langfuse_media import media_id
from playhead_collector.process import CollectorProcess

KEY = "sk-lf-of-the-collector"
KEYS = {"authorization": f"Bearer {KEY}"}
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
PNG_REF = "sha256:" + hashlib.sha256(PNG).hexdigest()
LARGE = b"%PDF\x00\x01\x02 not text" * 150_000  # larger than what other paths take
IMAGE = {"content-type": "image/png"}


@pytest.fixture(scope="module")
def collector(module_database_url: str) -> Iterator[CollectorProcess]:
    with CollectorProcess(database_url=module_database_url, env={"PLAYHEAD_ADMIN_KEY": KEY}) as collector:
        yield collector
        assert "Traceback" not in collector.log()


def ask(collector: CollectorProcess, path: str, **params: Any) -> Any:
    answer = httpx.get(f"{collector.url}/api/v1/{path}", params=params, headers=KEYS, timeout=60)
    assert answer.status_code == 200, (path, answer.text)
    return answer.json()


def data_uri(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def record(collector: CollectorProcess, messages: list[dict[str, Any]], name: str = "look") -> str:
    """The trace of one generation that is given these messages."""
    client = Langfuse(
        public_key=f"pk-{uuid4()}",
        secret_key=KEY,
        base_url=collector.url,
        tracer_provider=TracerProvider(),
        timeout=60,
    )
    try:
        with client.start_as_current_observation(
            name=name, as_type="generation", model="gpt-5", input=messages, output="a dot"
        ) as generation:
            trace = generation.trace_id
    finally:
        client.shutdown()
    return trace


def parts_of(collector: CollectorProcess, run: str) -> list[dict[str, Any]]:
    (call,) = ask(collector, f"runs/{run}/llm-calls")["items"]
    context = ask(collector, f"runs/{run}/context", at=call["seq"])
    return [part for message in context["messages"] for part in message["parts"]]


def test_an_image_that_the_sdk_uploads_is_content_and_stands_in_the_context(collector: CollectorProcess):
    image = {"type": "image_url", "image_url": {"url": data_uri("image/png", PNG), "detail": "low"}}
    run = record(collector, [{"role": "user", "content": [{"type": "text", "text": "what is it?"}, image]}])
    stored = httpx.get(f"{collector.url}/api/v1/content/{PNG_REF}", headers=KEYS, timeout=60)
    assert (stored.status_code, stored.content, stored.headers["content-type"]) == (200, PNG, "image/png")
    text, shown = parts_of(collector, run)
    assert text["content"] == "what is it?"
    assert (shown["type"], shown["mime_type"], shown["modality"]) == ("blob", "image/png", "image")
    assert base64.b64decode(shown["content"]) == PNG
    assert shown["extra"]["image_url"] == {"detail": "low"}
    row = ask(collector, f"runs/{run}")
    assert row["completeness"]["content_pending"] == 0
    uses = ask(collector, f"content/{PNG_REF}/about")
    assert uses["media_type"] == "image/png"


def test_an_image_that_is_stored_already_is_not_sent_again_and_is_shown(collector: CollectorProcess):
    first, second = (
        record(collector, [{"role": "user", "content": data_uri("image/png", PNG)}], name=name) for name in "ab"
    )
    for run in (first, second):
        (shown,) = parts_of(collector, run)
        assert base64.b64decode(shown["content"]) == PNG
    answer = announce(collector, data=PNG)
    assert answer.json() == {"mediaId": media_id(hashlib.sha256(PNG).digest()), "uploadUrl": None}


def test_a_large_file_in_the_form_of_another_provider(collector: CollectorProcess):
    source = {"type": "base64", "media_type": "application/pdf", "data": base64.b64encode(LARGE).decode()}
    run = record(collector, [{"role": "user", "content": [{"type": "document", "source": source}]}])
    (shown,) = parts_of(collector, run)
    assert (shown["mime_type"], base64.b64decode(shown["content"])) == ("application/pdf", LARGE)


def test_an_upload_that_arrives_after_the_span_is_shown_from_then_on(collector: CollectorProcess):
    data = b"a late image"
    token = LangfuseMedia(content_bytes=data, content_type=cast(Any, "image/png"))._reference_string
    run = record(collector, [{"role": "user", "content": token}])
    assert parts_of(collector, run) == [{"type": "text", "content": token}]
    url = announce(collector, data=data, traceId=run).json()["uploadUrl"]
    assert parts_of(collector, run) == [{"type": "text", "content": token}]
    for _ in range(2):  # the SDK tries again when an answer was lost
        assert httpx.put(url, content=data, headers=IMAGE, timeout=60).status_code == 200
    (shown,) = parts_of(collector, run)
    assert base64.b64decode(shown["content"]) == data


# --- what is refused --------------------------------------------------------------------------------------------------


def announce(
    collector: CollectorProcess, key: str = KEY, *, data: bytes = b"an image", **fields: Any
) -> httpx.Response:
    body = {
        "contentType": "image/png",
        "contentLength": len(data),
        "sha256Hash": base64.b64encode(hashlib.sha256(data).digest()).decode(),
        "traceId": "ab" * 16,
        "observationId": "cd" * 8,
        "field": "input",
    }
    return httpx.post(f"{collector.url}/api/public/media", json={**body, **fields}, auth=("pk", key), timeout=60)


def error_of(answer: httpx.Response) -> tuple[int, str, str]:
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["message"]


@pytest.mark.parametrize(
    ("fields", "status", "says"),
    [
        ({"sha256Hash": "short"}, 400, "send the SHA-256 of the bytes"),
        ({"sha256Hash": None}, 400, "send the SHA-256 of the bytes"),
        ({"contentLength": 0}, 400, "send the number of bytes"),
        ({"contentLength": True}, 400, "send the number of bytes"),
        ({"contentLength": 10**10}, 413, "raise PLAYHEAD_MAX_CONTENT_BYTES"),
        ({"contentType": "image"}, 400, "send one such as image/png"),
        ({"contentType": "a/b\r\nx: y"}, 400, "send one such as image/png"),
        ({"traceId": None}, 400, "only media of traces are kept"),
        ({"traceId": "../.."}, 400, "only media of traces are kept"),
    ],
    ids=str,
)
def test_an_announcement_that_cannot_be_kept_is_refused(
    collector: CollectorProcess, fields: dict[str, Any], status: int, says: str
):
    given, _, message = error_of(announce(collector, **fields))
    assert given == status
    assert says in message


def test_announcing_needs_a_key(collector: CollectorProcess):
    assert error_of(announce(collector, "wrong"))[:2] == (401, "unauthorized")
    unsigned = httpx.patch(f"{collector.url}/api/public/media/abc", json={}, timeout=60)
    assert error_of(unsigned)[:2] == (401, "unauthorized")


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"[" * 10_000])
def test_a_body_that_is_no_object_is_refused(collector: CollectorProcess, body: bytes):
    headers = {"content-type": "application/json"}
    answer = httpx.post(
        f"{collector.url}/api/public/media", content=body, headers=headers, auth=("pk", KEY), timeout=60
    )
    assert error_of(answer)[:2] == (400, "bad_request")


def test_other_bytes_than_the_announced_are_refused_and_the_right_ones_still_taken(collector: CollectorProcess):
    data = b"announced"
    url = announce(collector, data=data).json()["uploadUrl"]
    assert error_of(httpx.put(url, content=b"others", headers=IMAGE, timeout=60))[:2] == (400, "wrong_digest")
    thread = {"content-type": "application/vnd.playhead.thread+json"}
    assert error_of(httpx.put(url, content=data, headers=thread, timeout=60))[:2] == (415, "unknown_type")
    assert httpx.put(url, content=data, headers={"content-type": "text/plain"}, timeout=60).status_code == 200


def test_bytes_that_nobody_announced_are_refused(collector: CollectorProcess):
    digest = hashlib.sha256(b"a stranger's").digest()
    url = f"{collector.url}/api/public/media/{media_id(digest)}/{digest.hex()}"
    # Without the ticket of whoever announced something, it is nobody's.
    assert error_of(httpx.put(url, content=b"a stranger's", headers=IMAGE, timeout=60))[:2] == (401, "unauthorized")
    ticket = announce(collector, data=b"another one").json()["uploadUrl"].partition("?")[2]
    forged = ticket.replace("=1.", "=2.", 1)  # for another project
    assert error_of(httpx.put(f"{url}?{forged}", content=b"a", headers=IMAGE, timeout=60))[:2] == (401, "unauthorized")
    given = error_of(httpx.put(f"{url}?{ticket}", content=b"a stranger's", headers=IMAGE, timeout=60))
    assert given[:2] == (404, "not_announced")
    assert "announce it with POST /api/public/media" in given[2]
    other = f"{collector.url}/api/public/media/{'A' * 22}/{digest.hex()}?{ticket}"
    assert error_of(httpx.put(other, content=b"a stranger's", headers=IMAGE, timeout=60))[:2] == (404, "not_announced")
    # A path that is no address of an upload needs a key, as every other.
    assert httpx.put(f"{collector.url}/api/public/media/x/y", content=b"", timeout=60).status_code == 401
