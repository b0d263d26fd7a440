"""Made-up runs that grow while they are followed."""

import httpx

from playhead.outbound.otlp import traces_request
from playhead.wire.pack import PACK, encode_pack
from tests.support.made_up_runs import PROTOBUF, MadeUpRun, packed, post_packed

PATIENCE = 60.0


def grow(url: str, run: MadeUpRun, steps: int) -> None:
    """More steps of a run, each sent by itself.  Without its content, a run would not be over before it is sealed."""
    with httpx.Client(base_url=url, timeout=PATIENCE, trust_env=False) as http:
        for _ in range(steps):
            spans, content = run.step()
            post_packed(http, "/v1/content", packed(encode_pack(content)), PACK)
            post_packed(http, "/v1/traces", packed(traces_request(spans)), PROTOBUF)


def end(url: str, run: MadeUpRun) -> None:
    """The end of a run."""
    root = run.spans[0]
    run._end(root)
    with httpx.Client(base_url=url, timeout=PATIENCE, trust_env=False) as http:
        post_packed(http, "/v1/traces", packed(traces_request([root])), PROTOBUF)


def grow_and_end(url: str, run: MadeUpRun, steps: int) -> None:
    """More steps, and the end."""
    grow(url, run, steps)
    end(url, run)
