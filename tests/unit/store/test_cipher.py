import pytest

from playhead_collector.errors import CannotDecrypt
from playhead_collector.store.packing.cipher import OVERHEAD_BYTES, Cipher

KEY = bytes(range(32))


@pytest.mark.parametrize("data", [b"", b"a", b"\x00\xff" * 5_000])
def test_what_is_encrypted_is_decrypted_and_other_bytes_each_time(data: bytes):
    cipher = Cipher(KEY, 1)
    one, other = cipher.encrypt(data, "content"), cipher.encrypt(data, "content")
    assert one != other
    assert len(one) == len(data) + OVERHEAD_BYTES
    assert Cipher(KEY, 1).decrypt(one, "content") == cipher.decrypt(other, "content") == data


@pytest.mark.parametrize("text", ["", "an Ä", "転", "\ud800"])
def test_texts_and_tokens_are_ascii_and_read_back(text: str):
    cipher = Cipher(KEY, 1)
    encrypted, token = cipher.encrypt_text(text, "note"), cipher.token(text, "label")
    assert encrypted.isascii()
    assert token.isascii()
    assert cipher.decrypt_text(encrypted, "note") == cipher.text_of(token, "label") == text
    assert token == Cipher(KEY, 1).token(text, "label")


def test_equal_texts_have_other_tokens_for_other_purposes_projects_and_keys():
    tokens = {
        Cipher(KEY, 1).token("Ann", "label"), Cipher(KEY, 1).token("Ann", "view"), Cipher(KEY, 2).token("Ann", "label"),
        Cipher(KEY[::-1], 1).token("Ann", "label"),
    }  # fmt: skip
    assert len(tokens) == 4


def test_what_was_encrypted_for_another_place_or_changed_is_not_decrypted():
    body = Cipher(KEY, 1).encrypt(b"a prompt", "content")
    changed = body[:-1] + bytes((body[-1] ^ 1,))
    for cipher, wrong, purpose in (
        (Cipher(KEY, 1), body, "pack"),
        (Cipher(KEY, 2), body, "content"),
        (Cipher(KEY[::-1], 1), body, "content"),
        (Cipher(KEY, 1), changed, "content"),
        (Cipher(KEY, 1), body[:-1], "content"),
        (Cipher(KEY, 1), b"\x02" + body[1:], "content"),
        (Cipher(KEY, 1), b"", "content"),
        (Cipher(KEY, 1), b"a prompt", "content"),
    ):
        with pytest.raises(CannotDecrypt, match="backup"):
            cipher.decrypt(wrong, purpose)
    for wrong in ("", "plain", "not base64 é", Cipher(KEY, 2).encrypt_text("a", "note")):
        with pytest.raises(CannotDecrypt):
            Cipher(KEY, 1).decrypt_text(wrong, "note")
    for wrong in ("plain", "ä", Cipher(KEY, 1).token("a", "view")):
        with pytest.raises(CannotDecrypt):
            Cipher(KEY, 1).text_of(wrong, "label")
