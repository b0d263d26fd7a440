"""Refs: the digest of each, however the ref was made."""

import copy
import hashlib
import pickle

import pytest

from playhead.model.ref import AS_TEXT, ContentRef
from playhead.model.thread import node_bytes, node_ref

DIGEST = hashlib.sha256(b"x").digest()
MESSAGE = ContentRef.of(b"x")


@pytest.mark.parametrize(
    ("ref", "digest"),
    [
        (ContentRef.of(b"x"), DIGEST),
        (ContentRef.from_digest(DIGEST), DIGEST),
        (ContentRef.parse(str(MESSAGE)), DIGEST),
        (MESSAGE.with_reading(AS_TEXT), DIGEST),
        (MESSAGE.with_reading(AS_TEXT).plain, DIGEST),
        (node_ref(MESSAGE, None), hashlib.sha256(node_bytes(MESSAGE, None)).digest()),
        (node_ref(MESSAGE, MESSAGE), hashlib.sha256(node_bytes(MESSAGE, MESSAGE)).digest()),
    ],
)
def test_a_ref_knows_its_digest_however_it_was_made(ref: ContentRef, digest: bytes):
    for each in (ref, copy.deepcopy(ref), pickle.loads(pickle.dumps(ref))):
        assert each.digest == digest
        assert each == ref


def test_a_ref_has_no_other_attributes_than_its_own():
    assert not hasattr(MESSAGE, "size")
