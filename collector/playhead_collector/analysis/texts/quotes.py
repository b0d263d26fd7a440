"""[analysis]: quotes of recorded texts in answers.  Pure."""

from playhead.wire.operations.reasoning import Quoted
from playhead_collector.analysis.texts.passages import Passage

MAX_QUOTE_LENGTH = 300


def quoted(seq: int | None, passage: Passage, start: int, end: int) -> Quoted:
    """Quotes the text from start to end, cut to 300 characters. `seq`: the event with which it entered the run."""
    end = min(end, start + MAX_QUOTE_LENGTH)
    return {
        "seq": seq,
        "ref": passage.content,
        "part": passage.part,
        "start": start,
        "end": end,
        "text": passage.text[start:end],
    }
