"""Managed contexts: the messages that a model sees, kept within its window, recorded and resumable.

entries      a message of a context; which ones stay or go together
keep         how much stays, and thresholds in turns
plan         what a strategy is given and returns; plans that leave a valid conversation
strategies   LlmSummary, SlidingWindow, Hybrid, ClearToolResults, Chain, NoCompression
policy       Compression: when, how, how much
meter        tokens: estimates, corrected by reported usage
summaries    has a model write a summary
compressing  one compression, with its fallback, hooks and record
context      Context
carried      the context of a conversation that a framework keeps
prompts      Prompt: a system prompt of sections, of which each mode has some
notes        notes outside the context window, found by title and alias

langchain, pydantic_ai, openai_agents: for agents of these frameworks; each imports its framework.
"""

from playhead.context.context import Context
from playhead.context.entries import Entry, Fate
from playhead.context.keep import Keep, Messages, Turns
from playhead.context.notes import NoteMatch, Notes, TitledNote
from playhead.context.plan import DEFAULT_PROMPT, CompressionPolicy, Plan, Strategy, Summariser, TokenBudget
from playhead.context.policy import AllOf, Compression
from playhead.context.prompts import Prompt, PromptSavings, by_tools, by_words
from playhead.context.report import CompressionReport, CompressionStart, ContextStats
from playhead.context.strategies import Chain, ClearToolResults, Hybrid, LlmSummary, NoCompression, SlidingWindow
from playhead.context.summaries import SummaryFailed

__all__ = [
    "DEFAULT_PROMPT",
    "AllOf",
    "Chain",
    "ClearToolResults",
    "Compression",
    "CompressionPolicy",
    "CompressionReport",
    "CompressionStart",
    "Context",
    "ContextStats",
    "Entry",
    "Fate",
    "Hybrid",
    "Keep",
    "LlmSummary",
    "Messages",
    "NoCompression",
    "NoteMatch",
    "Notes",
    "Plan",
    "Prompt",
    "PromptSavings",
    "SlidingWindow",
    "Strategy",
    "Summariser",
    "SummaryFailed",
    "TitledNote",
    "TokenBudget",
    "Turns",
    "by_tools",
    "by_words",
]
