"""The private names of botocore that we use are where they were."""

import io
from typing import Any

from botocore.response import StreamingBody

from playhead.compat.botocore import replace_response, replace_stream


def test_a_body_reads_the_stream_that_was_put_in():
    body: Any = StreamingBody(io.BytesIO(b"theirs"), "6")
    seen: list[object] = []

    def replaced(stream: Any, length: object) -> object:
        seen.extend((stream.read(), length))
        return io.BytesIO(b"ours, as")

    replace_stream(body, replaced)
    assert seen == [b"theirs", "6"]
    assert body.read(4) == b"ours"


def test_so_does_one_of_aiobotocore_which_is_the_same_class():
    body: Any = StreamingBody(io.BytesIO(b"theirs"), "6")
    replace_response(body, lambda response: io.BytesIO(response.read().upper()))
    assert body.read() == b"THEIRS"
