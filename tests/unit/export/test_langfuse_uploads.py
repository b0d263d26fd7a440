"""Images and files that the SDK uploads to Langfuse: over HTTP, to the contract server."""

import ssl
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_address
from pathlib import Path
from threading import Thread

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from playhead.export.counters import ShipCounters
from playhead.export.destinations.requests import DestinationEndpoint
from playhead.export.destinations.target import ExportTarget, export_target
from playhead.outbound.langfuse_media import OutboundMedia, UploadAddress, address_in, put_headers
from playhead.wire.retries import Unavailable
from tests.support.backends.http import json_answer
from tests.support.backends.langfuse import PUBLIC, SECRET, Langfuse

DATA = b"\x89PNG not really"
MEDIUM = OutboundMedia(DATA, "image/png", b64encode(sha256(DATA).digest()).decode(), "a" * 32, "b" * 16, "input")


def _target(langfuse: Langfuse) -> ExportTarget:
    return export_target(
        "langfuse", {}, endpoint=langfuse.url, api_key=None, public_key=PUBLIC, secret_key=SECRET, project=None,
        headers=None, content="full", preview_characters=100, redact=None, public_url=None,
    )  # fmt: skip


def test_bytes_are_put_once_and_langfuse_is_told_how_it_went():
    with Langfuse() as langfuse:
        endpoint = DestinationEndpoint(_target(langfuse), ShipCounters())
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


def test_a_storage_behind_tls_has_to_prove_who_it_is_also_where_langfuse_has_no_tls(tmp_path: Path):
    with Langfuse() as langfuse, _tls_server(tmp_path) as (storage, requests):
        langfuse.fail_next.append(json_answer({"mediaId": "m", "uploadUrl": f"{storage}/upload"}))
        endpoint = DestinationEndpoint(_target(langfuse), ShipCounters())
        with pytest.raises(Unavailable, match="certificate verify failed"):
            endpoint.upload(MEDIUM)
        endpoint.close()
    assert requests == []


@contextmanager
def _tls_server(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Its certificate is its own. Yields its address, and the methods of requests to it."""
    requests: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            requests.append(self.command)
            self.send_response(200)
            self.end_headers()

    class Quiet(HTTPServer):
        def handle_error(self, request: object, client_address: object) -> None:
            """The client ends the handshake, as it should."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_certificate(folder))
    server = Quiet(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_port}", requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _certificate(folder: Path) -> Path:
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "storage")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    path = folder / "certificate.pem"
    written = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(written + made.public_bytes(Encoding.PEM))
    return path
