"""Images and files that the SDK uploads to Langfuse: over HTTP, to the contract server."""

from base64 import b64encode
from hashlib import sha256

import pytest

from playhead.export.counters import ShipCounters
from playhead.export.destinations.requests import DestinationEndpoint
from playhead.export.destinations.target import export_target
from playhead.outbound import OutboundMedia
from playhead.outbound.langfuse_uploads import UploadAddress, address_in, put_headers
from tests.support.backends.langfuse import PUBLIC, SECRET, Langfuse

DATA = b"\x89PNG not really"
MEDIUM = OutboundMedia(DATA, "image/png", b64encode(sha256(DATA).digest()).decode(), "a" * 32, "b" * 16, "input")


def test_bytes_are_put_once_and_langfuse_is_told_how_it_went():
    with Langfuse() as langfuse:
        target = export_target(
            "langfuse", {}, endpoint=langfuse.url, api_key=None, public_key=PUBLIC, secret_key=SECRET, project=None,
            headers=None, content="full", preview_characters=100, redact=None, public_url=None,
        )  # fmt: skip
        endpoint = DestinationEndpoint(target, ShipCounters())
        for _ in range(2):
            endpoint.upload(MEDIUM)
        endpoint.close()
        assert langfuse.media == {MEDIUM.id: DATA}
        assert [each["field"] for each in langfuse.media_fields] == ["input", "input"]
        puts = [each for each in langfuse.received if each.method == "PUT"]
        assert len(puts) == 1
        assert "authorization" not in puts[0].headers
        [patched] = [each.json() for each in langfuse.received if each.method == "PATCH"]
        assert (patched["uploadHttpStatus"], patched.keys() >= {"uploadedAt", "uploadTimeMs"}) == (200, True)


@pytest.mark.parametrize("host", ["storage.googleapis.com", "bucket.storage.googleapis.com"])
def test_googles_storage_gets_no_header_that_it_does_not_know(host: str):
    assert put_headers(f"https://{host}/x?signature=1", MEDIUM) == {"content-type": "image/png"}


def test_other_storage_gets_the_hash_and_the_kind_of_blob():
    headers = put_headers("https://bucket.s3.amazonaws.com/x", MEDIUM)
    assert headers["x-amz-checksum-sha256"] == MEDIUM.sha256
    assert headers["x-ms-blob-type"] == "BlockBlob"


@pytest.mark.parametrize("answer", [None, [], "x", {}, {"mediaId": "m"}, {"mediaId": "m", "uploadUrl": 5}])
def test_an_answer_without_an_address_asks_for_no_upload(answer: object):
    assert address_in(answer) == UploadAddress("", None)
