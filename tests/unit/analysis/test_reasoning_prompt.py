"""What a model writes as `playhead.REASONING_PROMPT` asks is read by the record's questions."""

import re

import playhead
from playhead_collector.analysis.reasoning.structured_text import TextRange
from playhead_collector.analysis.reasoning.written_down import read_structured

ANSWER = """\
<reasoning>
Goal: find the order
Observation: the customer named A1
Options:
- ask: ask for the date
  Pro: no tool is needed
  Con: the id is enough
- look up: read the order
  Pro: it says where it is
Decision: look up, because the id is known
</reasoning>
I look it up."""


def test_the_form_of_the_prompt_is_read():
    [found] = read_structured(ANSWER, "reasoning")

    def said(ranges: list[TextRange]) -> list[str]:
        return [ANSWER[each.start : each.end].strip() for each in ranges]

    assert said(found.goal) == ["find the order"]
    assert said(found.observation) == ["the customer named A1"]
    assert [said([option.name]) for option in found.options] == [["ask"], ["look up"]]
    assert [said(option.cons) for option in found.options] == [["the id is enough"], []]
    assert [said(option.pros) for option in found.options] == [["no tool is needed"], ["it says where it is"]]
    assert said(found.decision) == ["look up, because the id is known"]
    assert said(found.rest) == []


def test_the_prompt_shows_each_field_of_that_form():
    labels = re.findall(r"^\s*(?:- )?(\w[\w ]*):", playhead.REASONING_PROMPT.partition("<reasoning>")[2], re.MULTILINE)
    assert labels == re.findall(
        r"^\s*(?:- )?(\w[\w ]*):", ANSWER.replace("ask:", "first option:").replace("look up:", "second option:"), re.M
    )
