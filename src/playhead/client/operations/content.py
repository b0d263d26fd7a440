"""[client]: the content that refs name."""

from collections.abc import Sequence
from urllib.parse import quote

import httpx

from playhead.client.operation import Question, asked
from playhead.model.canonical import Content
from playhead.wire import answers as a


class ContentOperations:
    """The content that refs name."""

    @asked
    def content(self, ref: str) -> Question[Content]:
        """The bytes that a ref names, with their media type; `playhead.model.canonical.value_of` reads them."""
        return Question("content/" + quote(ref, safe=":"), read=_content)

    @asked
    def contents(self, refs: Sequence[str]) -> Question[dict[str, a.ContentValue]]:
        """Many contents at once, up to 1,000; those that are not stored are left out."""
        return Question("content/batch", body={"refs": list(refs)})

    @asked
    def thread(self, ref: str) -> Question[a.ThreadMessages]:
        """A thread as the list of messages that it stands for."""
        return Question("content/" + quote(ref, safe=":"), {"as": "messages"})


def _content(response: httpx.Response) -> Content:
    return Content(response.content, response.headers.get("content-type", "application/octet-stream"))
