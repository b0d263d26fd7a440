"""Private names of google-genai: how its client builds a request, and the class of HTTP responses from which it makes
its answers.

Tested with google-genai 1.10 to 3.4; `tests/unit/compat/test_google_genai.py` fails when a version moves them.
"""

from sys import modules
from typing import Any


def http_options_of(client: object) -> object:
    """Returns the options that hold for all requests of an API client; None if it has none."""
    return getattr(client, "_http_options", None)


def built_body(client: Any, path: str, request: dict[str, object], options: object) -> Any:
    """Returns the body that the API client would send for a POST request. May change `request`."""
    return client._build_request("post", path, request, options).data


def response_class() -> Any:
    """Returns the class of the HTTP responses from which the client makes its answers, once the library is imported;
    None in older versions, in which it makes them from JSON."""
    return getattr(modules["google.genai._api_client"], "SdkHttpResponse", None)
