import sys

import pytest

from playhead_collector.errors import WrongEncryptionKey
from playhead_collector.store.operator_key import KeyCommand, KeySource, LocalKey, key_in

KEY, OTHER = b"k" * 32, b"o" * 32
DATA_KEY = bytes(range(32))


async def test_a_key_unwraps_what_it_has_wrapped_and_says_whose_the_rest_is():
    wrapped = await LocalKey(KEY).wrap(DATA_KEY)
    assert DATA_KEY not in wrapped
    assert await LocalKey(KEY).unwrap(wrapped) == DATA_KEY
    with pytest.raises(WrongEncryptionKey, match=wrapped[1:9].hex()):
        await LocalKey(OTHER).unwrap(wrapped)
    with pytest.raises(WrongEncryptionKey, match="damaged"):
        await LocalKey(KEY).unwrap(wrapped[:-1])
    with pytest.raises(WrongEncryptionKey, match="COMMAND"):
        await LocalKey(KEY).unwrap(b"\x02" + wrapped)


@pytest.mark.parametrize("text", ["", "not base64!", "c2hvcnQ="])
def test_what_is_no_key_is_refused(text: str):
    with pytest.raises(ValueError, match="key"):
        key_in(text)


def test_a_source_shows_no_key():
    assert "a2tr" not in repr(KeySource(key="a2tra2tr"))
    assert KeySource().open() is None


def command(program: str, seconds: float = 20) -> KeyCommand:
    return KeyCommand(f"{sys.executable} -c '{program}'", seconds)


async def test_a_command_gets_base64_and_what_to_do():
    reverse = command(
        'import base64, sys; data = base64.b64decode(sys.stdin.read()); assert sys.argv[1] in ("wrap", "unwrap");'
        "print(base64.b64encode(data[::-1]).decode())"
    )
    wrapped = await reverse.wrap(DATA_KEY)
    assert wrapped == b"\x02" + DATA_KEY[::-1]
    assert await reverse.unwrap(wrapped) == DATA_KEY
    with pytest.raises(WrongEncryptionKey, match="PLAYHEAD_ENCRYPTION_KEY"):
        await reverse.unwrap(b"\x01" + DATA_KEY)


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("raise SystemExit(3)", "ended with 3"),
        ("print(1)", "no base64"),
        ('print("AAAA")', "3 bytes"),
        ("import time; time.sleep(60)", "within 0.5 s"),
    ],
)
async def test_a_command_that_fails_is_reported(program: str, said: str):
    with pytest.raises(WrongEncryptionKey, match=said):
        await command(program, 0.5 if "time" in program else 60).unwrap(b"\x02" + DATA_KEY)
    with pytest.raises(WrongEncryptionKey, match="cannot be started"):
        await KeyCommand("/no/such/command").unwrap(b"\x02" + DATA_KEY)
