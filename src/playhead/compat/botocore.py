"""Private names of botocore, and of aiobotocore: the stream inside the body of a response.

Tested with botocore 1.35 to 1.44 and aiobotocore 2.15 to 3.10; `tests/unit/compat/test_botocore.py` and
`tests/clients/test_aiobotocore.py` fail when a version moves them.
"""

from collections.abc import Callable
from typing import Any


def replace_stream(body: Any, replaced: Callable[[Any, object], object]) -> None:
    """Puts `replaced(stream, content-length header)` in the place of the stream that botocore's response body reads."""
    body._raw_stream = replaced(body._raw_stream, body._content_length)


def replace_response(body: Any, replaced: Callable[[Any], object]) -> None:
    """Puts `replaced(response)` in the place of the response that aiobotocore's body reads from."""
    # Since aiobotocore 3 a body is botocore's class, before it is a proxy of the response.
    name = "_raw_stream" if "_raw_stream" in vars(body) else "__wrapped__"
    setattr(body, name, replaced(getattr(body, name)))
