"""The page about the wire: its sender, which knows nothing of Playhead, makes the bytes that we make."""

import base64
import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playhead.journal.lane import FORMAT_VERSION
from playhead.model.canonical import CANONICAL_VERSION, Content, canonical_json, content_of
from playhead.model.names import WIRE_VERSION
from playhead.model.ref import ContentRef
from playhead.model.thread import extend, node_bytes
from playhead.wire import export_layout
from playhead.wire.pack import PACK, Pack, ThreadExtension, decode_pack, encode_pack

PAGE = Path(__file__).parents[3] / "docs" / "wire.md"
MESSAGES = [
    {"role": "system", "parts": [{"type": "text", "content": "You help with orders."}]},
    {"role": "user", "parts": [{"type": "text", "content": 'Où est A1 ? "now"\n\u0001 😀'}]},
]
ARGUMENTS = {"order": "A1", "amount": 12.5, "many": 12345678901234567890123, "yes": True, "none": None, "zero": 1.0}
NUMBERS = [1, -0.5, 1e300, 1e16, 1e15, 1e-5, 1e-7, 0.1, -0.0]


@pytest.fixture(scope="module")
def sender() -> dict[str, Any]:
    """The functions of the page's sender."""
    [code] = re.findall(r"<!-- run: sender -->\n```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    scope: dict[str, Any] = {}
    exec(compile(code.partition("\nquestion = ")[0], "wire.md", "exec"), scope)
    return scope


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_values_have_the_bytes_and_refs_of_the_page(sender: dict[str, Any], golden: Callable[[str, str], None]):
    lines: list[dict[str, Any]] = []
    for value in [*MESSAGES, ARGUMENTS, NUMBERS, "text"]:
        data = canonical_json(value)
        if value != NUMBERS:  # Python's own writer puts a plus sign into exponents
            assert sender["canonical"](value) == data
        lines.append({"value": value, "bytes": base64_of(data), "ref": "sha256:" + hashlib.sha256(data).hexdigest()})
        assert sender["ref"](data) == lines[-1]["ref"]
        if not isinstance(value, str):
            assert content_of(value).ref == lines[-1]["ref"]
    golden("wire/contents.json", json.dumps(lines, indent=2, ensure_ascii=False) + "\n")


def test_threads_have_the_refs_of_the_page(sender: dict[str, Any], golden: Callable[[str, str], None]):
    refs = [ContentRef.of(canonical_json(message)) for message in MESSAGES]
    nodes = extend(refs)
    parent: str | None = None
    for ref, node in zip(refs, nodes, strict=True):
        parent = sender["node"](str(ref), parent)
        assert parent == node.ref
    lines = [
        {"message": n.message, "parent": n.parent, "bytes": base64_of(node_bytes(n.message, n.parent)), "ref": n.ref}
        for n in nodes
    ]
    golden("wire/thread.json", json.dumps(lines, indent=2) + "\n")


def test_a_pack_has_the_bytes_of_the_page(sender: dict[str, Any], golden: Callable[[str, str], None]):
    contents = [Content(canonical_json(value), "application/json") for value in [*MESSAGES, ARGUMENTS]]
    thread = ThreadExtension(None, (contents[0].ref, contents[1].ref))
    ours = Pack(tuple(contents), (thread,))
    theirs, tips = sender["pack"]([(each.media_type, each.data) for each in contents], [(None, [0, 1])])
    assert tips == [thread.ref]
    assert decode_pack(theirs) == ours == decode_pack(encode_pack(ours))
    packed = encode_pack(ours)
    header = json.loads(packed[4 : 4 + int.from_bytes(packed[:4], "big")])
    golden("wire/pack.json", json.dumps({"header": header, "bytes": base64_of(packed)}, indent=2) + "\n")


def test_the_page_says_the_versions_in_force():
    text = PAGE.read_text(encoding="utf-8")
    assert (WIRE_VERSION, CANONICAL_VERSION, FORMAT_VERSION, export_layout.VERSION) == (1, 1, 1, 1)
    assert f'`{{"collector": "{WIRE_VERSION}"}}`' in text
    assert PACK in text
