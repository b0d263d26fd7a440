"""Arguments of `export_to` that cannot be meant are refused at once, and no key is shown."""

from typing import Any

import pytest

import playhead
from playhead.errors import SettingInvalid

URL = "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"kind": "jaeger"}, "there is no such destination"),
        ({"endpoint": 4318}, "endpoint=...): give a text, and not a int"),
        ({"endpoint": b"http://127.0.0.1:9"}, "endpoint=...): give a text, and not a bytes"),
        ({"endpoint": "localhost:4318"}, "is no address"),
        ({"api_key": b"s3cr3t"}, "api_key=...): give a text"),
        ({"headers": "authorization=s3cr3t"}, "headers=...): give a dictionary"),
        ({"headers": [("authorization", "s3cr3t")]}, "headers=...): give a dictionary"),
        ({"content": "all"}, "content='all'): use one of"),
        ({"preview_characters": None}, "preview_characters=None): give a number from 1"),
        ({"preview_characters": 0}, "preview_characters=0): give a number from 1"),
        ({"redact": "s3cr3t"}, "redact=...): give a function"),
    ],
    ids=str,
)
def test_an_argument_that_cannot_be_meant_is_refused_at_once(options: dict[str, Any], says: str):
    asked: dict[str, Any] = {"kind": "otlp", "endpoint": URL, **options}
    with pytest.raises(SettingInvalid) as refused:
        playhead.export_to(asked.pop("kind"), **asked)
    assert says in str(refused.value)
    assert "s3cr3t" not in str(refused.value)
