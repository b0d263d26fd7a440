"""Private names of botocore, and of aiobotocore: the stream inside the body of a response.

Tested with botocore 1.35 to 1.44 and aiobotocore 2.15 to 3.10; `tests/unit/compat/test_botocore.py` and
`tests/clients/test_aiobotocore.py` fail when a version moves them.
"""

from collections.abc import Callable
from typing import Any


def replace_stream(body: Any, replaced: Callable[[Any, object], object]) -> None:
    """Replaces the stream that a body of botocore reads by `replaced(the stream, the header content-length)`."""
    body._raw_stream = replaced(body._raw_stream, body._content_length)


def replace_response(body: Any, replaced: Callable[[Any], object]) -> None:
    """Replaces what a body of aiobotocore reads by `replaced(that)`."""
    # Since aiobotocore 3 a body is botocore's class, before it is a proxy of the response.
    name = "_raw_stream" if "_raw_stream" in vars(body) else "__wrapped__"
    setattr(body, name, replaced(getattr(body, name)))
