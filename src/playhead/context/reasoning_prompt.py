"""A section for system prompts, after which a model writes down why it chose what it did."""

from typing import Final

REASONING_PROMPT: Final = """\
Before each decision (a tool call, or an answer), write down your reasoning in this form:

<reasoning>
Goal: what you want to reach
Observation: what you know, and what the last result says
Options:
- first option: what it does, rejected because of what
  Pro: what speaks for it
  Con: what speaks against it
- second option: what it does
  Pro: what speaks for it
Decision: the name of the option that you take, because of what
</reasoning>
"""
"""Text for `instructions`: `f"{PROMPT}\\n\\n{playhead.REASONING_PROMPT}"`, or a section of a prompt. The record then
has goal, observation, options and decision of each model call."""
