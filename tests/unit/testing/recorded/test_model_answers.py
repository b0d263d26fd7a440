"""Recorded answers, given again by the mock model server: by what was asked, else in their order."""

import openai
import pytest

from playhead.testing import MockModelServer, RecordedAnswers, dropped_connection, rate_limit, text


def ask(server: MockModelServer, content: str, retries: int = 0) -> str | None:
    with openai.OpenAI(base_url="http://mock/v1", api_key="none", http_client=server.http_client()) as client:
        asked = client.with_options(max_retries=retries)
        answer = asked.chat.completions.create(model="m", messages=[{"role": "user", "content": content}])
        return answer.choices[0].message.content


def test_a_request_gets_the_answer_that_its_last_message_had_also_out_of_order():
    server = MockModelServer()
    answers = RecordedAnswers([("red", text("1")), ("green", text("2")), ("green", text("3"))])
    server.otherwise(answers)
    assert [ask(server, "green, please"), ask(server, "red"), ask(server, "green")] == ["2", "1", "3"]
    assert answers.unused == 0


def test_a_request_that_nobody_recorded_gets_the_next_answer():
    server = MockModelServer()
    server.otherwise(RecordedAnswers([("", text("1")), ("red", text("2"))]))
    assert [ask(server, "blue"), ask(server, "another prompt")] == ["1", "2"]


def test_a_request_too_many_is_refused_with_the_reason():
    server = MockModelServer()
    server.otherwise(RecordedAnswers([("red", text("1"))]))
    ask(server, "red")
    with pytest.raises(openai.BadRequestError, match="asked the model 1 times, and this is one more"):
        ask(server, "red", retries=2)


@pytest.mark.parametrize("failure", [rate_limit(0), dropped_connection()])
def test_a_failure_fails_for_the_retries_of_the_client_and_not_for_those_of_the_program(failure: object):
    server = MockModelServer()
    server.otherwise(RecordedAnswers([("red", failure), ("red", text("1"))]))  # type: ignore[list-item]
    with pytest.raises((openai.RateLimitError, openai.APIConnectionError)):
        ask(server, "red", retries=1)
    assert ask(server, "red") == "1"
