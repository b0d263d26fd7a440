"""The private names of google-genai that we use are where they were, and mean what we take them for."""

from google import genai
from google.genai import types
from google.genai._api_client import BaseApiClient

from playhead.compat.google_genai import built_body, http_options_of, response_class

OPTIONS = types.HttpOptions(extra_body={"labels": {"a": "b"}})


def api_client(options: types.HttpOptions | None = None) -> BaseApiClient:
    return genai.Client(api_key="none", http_options=options)._api_client


def test_the_options_of_all_requests_are_known():
    options = http_options_of(api_client(OPTIONS))
    assert isinstance(options, types.HttpOptions)
    assert options.extra_body == OPTIONS.extra_body


def test_a_body_is_built_with_what_the_client_adds():
    body = built_body(api_client(), "models/m:generateContent", {"contents": []}, OPTIONS)
    assert body == {"contents": [], "labels": {"a": "b"}}


def test_the_client_makes_its_answers_from_this_class():
    response = response_class()(headers={"a": "b"}, body='{"candidates": []}')
    assert (response.headers, response.body) == ({"a": "b"}, '{"candidates": []}')
