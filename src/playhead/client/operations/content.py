"""[client]: stored content, by ref."""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import quote

from playhead.client.operation import ApiRequest, client_method
from playhead.model.canonical import Content
from playhead.model.names import PACK_LOOKED_AT_HEADER
from playhead.wire import operations
from playhead.wire.operations.content import ContentAbout
from playhead.wire.pack import Pack, decode_pack

if TYPE_CHECKING:
    import httpx


class ContentOperations:
    """Stored content, by ref."""

    @client_method
    def content(self, ref: str) -> ApiRequest[Content]:
        """Bytes and media type of a content; `playhead.model.canonical.value_of` decodes them.  Raises NotFound."""
        return ApiRequest("content/" + quote(ref, safe=":"), read=_content)

    @client_method
    def contents(self, refs: Sequence[str]) -> ApiRequest[dict[str, operations.ContentValue]]:
        """Up to 1,000 contents by ref.  Refs that are not stored are absent from the answer."""
        return ApiRequest("content/batch", body={"refs": list(refs)})

    @client_method
    def about(
        self, ref: str, *, limit: int = 20, cursor: str | None = None, run: str | None = None
    ) -> ApiRequest[ContentAbout]:
        """Kind and size of a content, when it was first and last seen, and the runs and calls that had it.

        `cursor`: the `next_cursor` of the previous answer; `limit`: number of runs in this answer. `run`: counts this
        run only; of a fork, with the events that it shares with its parent. Raises NotFound.
        """
        query = {"limit": limit, "cursor": cursor, "run": run}
        return ApiRequest("content/" + quote(ref, safe=":") + "/about", query)

    @client_method
    def thread(self, ref: str) -> ApiRequest[operations.ThreadMessages]:
        """The messages of a thread."""
        return ApiRequest("content/" + quote(ref, safe=":"), {"as": "messages"})

    @client_method
    def content_pack(self, refs: Sequence[str]) -> ApiRequest[tuple[Pack, int]]:
        """Stored contents and threads of up to 1,000 refs, and how many of the refs (from the first) the answer covers:
        request the others again.

        Refs that are not stored are left out. A thread has all messages from its beginning.
        """
        return ApiRequest("content/pack", body={"refs": list(refs)}, read=_pack)


def _content(response: "httpx.Response") -> Content:
    return Content(response.content, response.headers.get("content-type", "application/octet-stream"))


def _pack(response: "httpx.Response") -> tuple[Pack, int]:
    return decode_pack(response.content), int(response.headers[PACK_LOOKED_AT_HEADER])
