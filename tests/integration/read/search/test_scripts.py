"""Words are found inside of sentences in scripts without spaces, between signs, and in identifiers."""

import pytest

from playhead.model.message import text_message
from tests.integration.read.recorded import Recorder
from tests.integration.read.search.conftest import Searched
from tests.support.sentences import SCRIPTS


async def texts_found(searched: Searched, words: str) -> list[str]:
    """The texts of the messages that are found, as the quotes have them."""
    return [each["quotes"][0]["quote"] for each in await searched.all("content", q=words, limit=100)]


async def record(searched: Searched, *texts: str) -> None:
    recorder = Recorder("01" * 16)
    recorder.model([text_message("user", text) for text in texts], text_message("assistant", "Done."))
    await searched.batch(recorder.batch())


@pytest.mark.parametrize("script", SCRIPTS)
async def test_each_word_is_found_in_all_sentences_that_have_it(searched: Searched, script: str):
    sentences = SCRIPTS[script].sentences
    assert len(set(sentences)) == 50
    await record(searched, *sentences)
    for word in SCRIPTS[script].words:
        expected = sorted(sentence for sentence in sentences if word in sentence)
        assert len(expected) >= 5
        assert sorted(await texts_found(searched, word)) == expected, word


QUOTED = [
    ("转", "他想把钱转账到新账户"),
    ("转账", "他想把钱转账到新账户"),
    ("転送", "メールを転送してください"),
    ("환불", "고객이 환불을 요청했습니다"),
    ("비밀번호", "고객이 비밀번호를 잊었습니다"),
    ("retriever", "(retriever/pointing type)"),
    ("pointing", "(retriever/pointing type)"),
    ("user", "the tool get_user_details"),
    ("user", "the tool getUserDetails"),
    ("details", "the tool get-user-details"),
    ("get_user_details", "the tool getUserDetails"),
    ("getUserDetails", "the tool get_user_details"),
    ("getUserDetails", "the tool getuserdetails"),
    ("json", "JSONDecodeError: Expecting value"),
    ("05-20", "on 2024-05-20, at noon"),
    ("smith", "write to mia.smith@example.com"),
    ("6f3a", "key:6f3a;value:1"),
    ("データ", "ﾃﾞｰﾀ is missing"),
    ("CAFÉ", "the cafe\u0301 is closed"),
    ("हिन्दी", "यह हिन्दी है"),
    ("iPhone手机", "我的iPhone手机坏了"),
]


@pytest.mark.parametrize(("words", "text"), QUOTED)
async def test_a_text_is_found_and_quoted(searched: Searched, words: str, text: str):
    await record(searched, text, "something else")
    assert await texts_found(searched, words) == [text]


OTHERS = [
    ("账转", "他想把钱转账到新账户"),
    ("转到", "转账到"),
    ("转账", "他转。账户"),
    ("user_get", "get_user"),
    ("getuser", "get_user"),
    ("get_user", "get user"),
    ("2024-20", "2024-05-20"),
    ("etri", "retriever"),
    ('"type pointing"', "(pointing type)"),
]


@pytest.mark.parametrize(("words", "text"), OTHERS)
async def test_a_text_with_the_same_characters_in_another_order_is_not_found(searched: Searched, words: str, text: str):
    await record(searched, text)
    assert await texts_found(searched, words) == []
