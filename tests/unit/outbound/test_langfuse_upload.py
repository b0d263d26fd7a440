"""The requests that upload a medium to Langfuse, without sending them."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from playhead.outbound.langfuse_media import OutboundMedia, UploadAnswer, UploadRequest, upload

MEDIUM = OutboundMedia(b"bytes", "image/png", "aGFzaA==", "a" * 32, "b" * 16, "input")
AT = datetime(2026, 1, 2, tzinfo=UTC)
ADDRESS = {"mediaId": "a/b", "uploadUrl": "https://storage/x"}


def answer(status: int, value: Any = None) -> UploadAnswer:
    return UploadAnswer(status, json.dumps(value).encode(), None, 0.25, AT)


def driven(*answers: UploadAnswer) -> tuple[list[UploadRequest], UploadAnswer | None]:
    """Returns the requests, and the answer with which the upload failed."""
    requests = upload("https://langfuse/media", {"authorization": "Basic key"}, MEDIUM)
    sent = [next(requests)]
    for each in answers:
        try:
            sent.append(requests.send(each))
        except StopIteration as ended:
            return sent, ended.value
    raise AssertionError("more requests than answers")


def test_three_requests_upload_a_medium():
    requests, failed = driven(answer(201, ADDRESS), answer(200), answer(200))
    assert failed is None
    assert [(each.method, each.url, each.is_to_storage) for each in requests] == [
        ("POST", "https://langfuse/media", False),
        ("PUT", "https://storage/x", True),
        ("PATCH", "https://langfuse/media/a%2Fb", False),
    ]
    assert requests[1].body == b"bytes"
    assert "authorization" not in requests[1].headers
    assert json.loads(requests[2].body) == {"uploadedAt": AT.isoformat(), "uploadHttpStatus": 200, "uploadTimeMs": 250}


@pytest.mark.parametrize("value", [{"mediaId": "m", "uploadUrl": None}, "no JSON object"])
def test_a_medium_that_langfuse_has_is_not_uploaded(value: Any):
    requests, failed = driven(answer(200, value))
    assert (len(requests), failed) == (1, None)


@pytest.mark.parametrize("status", [400, 401, 503])
def test_a_question_that_fails_ends_the_upload(status: int):
    assert driven(answer(status)) == ([*driven(answer(200))[0]], answer(status))


def test_a_refused_upload_is_reported_and_a_failed_one_is_not():
    requests, failed = driven(answer(201, ADDRESS), answer(400), answer(200))
    assert failed == answer(400)
    assert json.loads(requests[2].body)["uploadHttpStatus"] == 400
    requests, failed = driven(answer(201, ADDRESS), answer(503))
    assert (len(requests), failed) == (2, answer(503))


@pytest.mark.parametrize(("status", "failed"), [(200, None), (404, None), (503, answer(503)), (500, answer(500))])
def test_a_report_that_may_work_later_fails_the_upload(status: int, failed: UploadAnswer | None):
    assert driven(answer(201, ADDRESS), answer(200), answer(status))[1] == failed
