"""A promise → body and headers of a webhook (Standard Webhooks 1.0.0).  Pure.

The signature is HMAC-SHA256 of `{webhook-id}.{webhook-timestamp}.{body}`; neither the id nor the timestamp has a dot.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping

from playhead.model.times import rfc3339
from playhead_collector.json_bytes import json_bytes
from playhead_collector.store.ports.promises import StoredPromise

OPENED = "promise.opened"


def body_of(promise: StoredPromise, public_url: str) -> bytes:
    """Returns the body as JSON. It leaves out the details: readers who may see them read the promise, with a key."""
    body, link = promise.body, f"{public_url.rstrip('/')}/api/v1/promises/{promise.id}"
    data = {
        "id": promise.id,
        "run": promise.run,
        "kind": promise.kind,
        "prompt": body["action"],
        "name": body["name"],
        "key": body["key"] if promise.kind == "event" else None,
        "risk": body["risk"],
        "deadline": None if promise.deadline_ns is None else rfc3339(promise.deadline_ns),
        "answer_url": link,
    }
    return json_bytes({"type": OPENED, "timestamp": rfc3339(promise.created_ns), "data": data})


def signed_headers(promise: str, body: bytes, key: bytes, now_s: int) -> Mapping[str, str]:
    """Returns the headers of an attempt at `now_s` (seconds since 1970). The id is the same in each attempt."""
    number = f"opened_{promise}"
    digest = hmac.new(key, b"%b.%d.%b" % (number.encode(), now_s, body), hashlib.sha256).digest()
    return {
        "content-type": "application/json",
        "webhook-id": number,
        "webhook-timestamp": str(now_s),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }
