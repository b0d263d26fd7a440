"""[analysis]: English phrases that mark refusals, confirmations and claims; sentences with positions.  Pure.

They match nothing in other languages; finders that compare values still work there.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from playhead_collector.analysis.texts.words import listed, name_words

# A sentence, or a line of a list.
_SENTENCE = re.compile(r"[^\n.!?;]{1,600}(?:[.!?;](?!\s|$)[^\n.!?;]{1,600}){0,20}[.!?;]?")
_N = r"(?:n['\u2019]t| not)"
INABILITY = re.compile(
    rf"\b(?:unable to|not able to|cannot|can['\u2019]?t|can not|could{_N} (?:find|be)|do{_N} have access|"
    rf"is not (?:allowed|possible|permitted)|not (?:allowed|permitted)|is{_N} possible)\b",
    re.IGNORECASE,
)
NOT_HAVING = re.compile(
    rf"\b(?:do{_N} (?:have|know|remember|recall)|not sure|can['\u2019]?t (?:find|remember|recall)|forgot|"
    r"without (?:it|that|the)|another way|handy|lost (?:it|my))\b",
    re.IGNORECASE,
)
DEMAND = re.compile(r"\b(?:need|require[sd]?|provide|please|necessary|must have)\b", re.IGNORECASE)
CONFIRMATION = re.compile(
    r"\b(?:yes|yeah|yep|sure|confirm\w*|proceed|go ahead|go with|correct|okay|ok|please do|sounds good|looks good|"
    r"that works|agreed?|book (?:it|that|this)|approve\w*|perfect|great|fine|do it|i['\u2019]?ll take)\b",
    re.IGNORECASE,
)
DONE = re.compile(
    r"\b(?:has|have) (?:now |also |just |already )?been (?:successfully )?\w{3,20}(?:ed|ent|old|aid|ade)\b"
    r"|\bsuccessfully \w{3,20}ed\b|\bI(?:['\u2019]ve| have) (?:successfully |also |now )?\w{3,20}ed\b",
    re.IGNORECASE,
)
# Verbs of reading: a claim with one of them is no claim that something was changed.
LOOKED = re.compile(
    r"\b(?:retriev|f?ound|locat|review|check|search|identif|receiv|not(?:ed|iced)|provid|need|understood|look|verif|"
    r"calculat|consider|read|analy[sz])\w*",
    re.IGNORECASE,
)
# Words in the names of tools that only read: verbs, and what reads.
_LOOKS = frozenset(
    listed(
        "get list search find read fetch look lookup query calculate compute think check describe show view count load "
        "browse retrieve inspect analyze analyse validate verify summarize plan note reflect explain convert estimate "
        "grep ls cat open select track compare searcher finder reader fetcher browser retriever retrieval calculator "
        "analyzer viewer scraper crawler wikipedia wiki google bing duckduckgo arxiv pubmed tavily serper serpapi "
        "weather translate translator math"
    )
)
# Verbs of changing, with which the name of a tool may begin although it has a word of reading.
_CHANGES = frozenset(
    listed(
        "book cancel update create delete send modify return exchange pay transfer add remove set write insert submit "
        "place post put patch move rename edit apply approve reject refund buy sell order reserve upload publish drop "
        "execute run install deploy assign close merge commit push reset enable disable start stop schedule"
    )
)
_HANDS_OVER = re.compile(r"transfer|escalat|hand_?(?:off|over)|human", re.IGNORECASE)


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yields start and end of each sentence or line."""
    for match in _SENTENCE.finditer(text):
        start = match.start() + len(match[0]) - len(match[0].lstrip())
        if start < match.end():
            yield start, match.end()


def acts(tool: str) -> bool:
    """Whether a tool changes something, by its name.

    It does not if it hands over, or begins with a word of reading (`get_order`), or has one after a word that is no
    verb of changing (`web_search`). `search_and_book` changes something.
    """
    words = name_words(tool)
    if not words or hands_over(tool):
        return False
    if words[0] in _LOOKS:
        return any(word == "and" and after in _CHANGES for word, after in pairwise(words))
    return words[0] in _CHANGES or not _LOOKS.intersection(words)


def hands_over(tool: str) -> bool:
    """Whether a tool, by its name, hands the work to somebody else."""
    return _HANDS_OVER.search(tool) is not None
