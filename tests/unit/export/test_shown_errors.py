"""Errors of a destination that `export_to` shows: without the key that was sent, and without control characters."""

import pytest

from playhead.export.counters import ShipCounters
from playhead.export.destinations.requests import DestinationEndpoint
from playhead.export.destinations.target import export_target
from playhead.wire.retries import Unavailable
from tests.support.backends.http import json_answer
from tests.support.backends.langfuse import PUBLIC, Langfuse
from tests.unit.export.test_langfuse_uploads import MEDIUM

SECRET = "sk-lf-0123456789abcdef"


@pytest.mark.parametrize("status", [401, 404, 503])
def test_a_key_that_an_error_repeats_is_not_shown(status: int):
    with Langfuse() as langfuse:
        target = export_target(
            "langfuse", {}, endpoint=langfuse.url, api_key=None, public_key=PUBLIC, secret_key=SECRET, project=None,
            headers=None, content="full", preview_characters=100, redact=None, public_url=None,
        )  # fmt: skip
        sent = " ".join(target.headers.values())
        langfuse.fail_next.append(json_answer({"error": f"\x7f\u202e no such key: {SECRET}, sent as {sent}"}, status))
        endpoint = DestinationEndpoint(target, ShipCounters())
        with pytest.raises(Unavailable) as failed:
            endpoint.upload(MEDIUM)
        endpoint.close()
    shown = str(failed.value)
    assert "no such key: [not shown]" in shown
    assert SECRET not in shown
    assert not [value for value in target.headers.values() if len(value) > 10 and value in shown]
    assert shown.isprintable()
