"""[client]: stored content, by ref."""

from collections.abc import Sequence
from urllib.parse import quote

import httpx

from playhead.client.operation import ApiRequest, client_method
from playhead.model.canonical import Content
from playhead.wire import answers as a


class ContentOperations:
    """Stored content, by ref."""

    @client_method
    def content(self, ref: str) -> ApiRequest[Content]:
        """Bytes and media type of a content; `playhead.model.canonical.value_of` decodes them.  Raises NotFound."""
        return ApiRequest("content/" + quote(ref, safe=":"), read=_content)

    @client_method
    def contents(self, refs: Sequence[str]) -> ApiRequest[dict[str, a.ContentValue]]:
        """Up to 1,000 contents by ref.  Refs that are not stored are absent from the answer."""
        return ApiRequest("content/batch", body={"refs": list(refs)})

    @client_method
    def thread(self, ref: str) -> ApiRequest[a.ThreadMessages]:
        """The messages of a thread."""
        return ApiRequest("content/" + quote(ref, safe=":"), {"as": "messages"})


def _content(response: httpx.Response) -> Content:
    return Content(response.content, response.headers.get("content-type", "application/octet-stream"))
