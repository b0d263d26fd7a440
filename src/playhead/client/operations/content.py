"""[client]: the content that refs name."""

from collections.abc import Sequence
from urllib.parse import quote

import httpx

from playhead.client.operation import ApiRequest, client_method
from playhead.model.canonical import Content
from playhead.wire import answers as a


class ContentOperations:
    """The content that refs name."""

    @client_method
    def content(self, ref: str) -> ApiRequest[Content]:
        """The bytes that a ref names, with their media type; `playhead.model.canonical.value_of` reads them."""
        return ApiRequest("content/" + quote(ref, safe=":"), read=_content)

    @client_method
    def contents(self, refs: Sequence[str]) -> ApiRequest[dict[str, a.ContentValue]]:
        """Many contents at once, up to 1,000; those that are not stored are left out."""
        return ApiRequest("content/batch", body={"refs": list(refs)})

    @client_method
    def thread(self, ref: str) -> ApiRequest[a.ThreadMessages]:
        """A thread as the list of messages that it stands for."""
        return ApiRequest("content/" + quote(ref, safe=":"), {"as": "messages"})


def _content(response: httpx.Response) -> Content:
    return Content(response.content, response.headers.get("content-type", "application/octet-stream"))
