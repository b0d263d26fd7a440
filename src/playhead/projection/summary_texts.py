"""[projection]: whether a text stands for removed messages: it says so, repeats a model's answer, or restates them.

Pure; used for the classification of cuts and for the audits of compressions.
"""

import re
from collections.abc import Iterable, Sequence, Set
from functools import lru_cache

_TALK = (
    r"(?:conversation|discussion|dialog(?:ue)?|session|history|context|messages|chat|transcript|so far|above|earlier"
    # German, French, Spanish, Italian, Portuguese, Dutch, Russian
    r"|gespräche?s?|unterhaltung|(?:chat|gesprächs)?verlaufe?s?|bisherig\w{1,2}|bisher|échanges?|conversación|diálogo"
    r"|hasta ahora|conversazione|finora|conversas?|até agora|gesprek|tot nu toe|разговора|беседы|диалога|переписки)"
)
_SUMMARY_ELSEWHERE = (
    r"zusammenfassung|résumé(?= d[eu]\b)|resumen|riassunto|sintesi|resumo|samenvatting|резюме|сводка|краткое содержание"
)
_SUMMED = rf"(?:summary|summari[sz]ed|recap|condensed|compacted|compressed|{_SUMMARY_ELSEWHERE})"
# Chinese, Japanese and Korean have no spaces around these words.
_TALK_CJK = "(?:对话|對話|会话|會話|聊天|交谈|目前为止|至今|会話|対話|これまで|대화|지금까지)"
_SUMMARY_CJK = "(?:摘要|总结|總結|概要|小结|要約|まとめ|요약)"
# Beginnings of summaries, and of requests for a summary, which are not summaries.
_IS_SUMMARY = re.compile(
    rf"\b{_SUMMED}\b.{{0,80}}?\b{_TALK}\b|\b{_TALK}\b.{{0,80}}?\b{_SUMMED}\b|<(?:\w+_)?summary>|<state_snapshot>"
    rf"|\A\W{{0,8}}(?:\w{{1,20}} ){{0,2}}(?:summary|recap|{_SUMMARY_ELSEWHERE})\b\W{{0,4}}[:\n]"
    r"|\bstory so far\b|\A\W{0,8}(?:progress|work|findings) so far\W{0,4}[:\n]"
    rf"|{_TALK_CJK}.{{0,12}}?{_SUMMARY_CJK}|\A\W{{0,8}}{_SUMMARY_CJK}\W{{0,4}}?[:\uff1a\n]",
    re.IGNORECASE | re.DOTALL,
)
_WANTS_SUMMARY = re.compile(
    rf"\b(?:summari[sz]e|condense|compact|compress|(?<!\ba )(?<!\bthe )recap)\b.{{0,60}}?\b{_TALK}\b"
    r"|\b(?:write|create|provide|give|generate|produce|make)\b.{0,40}?\bsummary\b"
    r"|\b(?:erstell|schreib|gib|mach|verfass|rédige|écri|fai|donne|haz|escrib|crea|scriv|genera|faça|escrev|cri|maak|schrijf"
    rf"|geef|напиши|сделай|составь)\w{{0,4}}\b.{{0,40}}?\b(?:{_SUMMARY_ELSEWHERE})\b"
    r"|\bfass(?:e|en|t)?\b.{0,200}?\bzusammen\b"
    rf"|(?:请|請|帮我|写|寫|生成|给出|提供).{{0,16}}?{_SUMMARY_CJK}"
    r"|(?:要約|まとめ)(?:して|を(?:作成|書))|요약(?:해|을 (?:작성|만들))",
    re.IGNORECASE | re.DOTALL,
)
_BEGINNING = 400
# What programs write in the place of messages that they left out.
_SAYS_REMOVED = re.compile(
    r"\b(?:removed|omitted|truncated|dropped|skipped|elided|trimmed|hidden|left out|deleted|entfernt|gekürzt)\b",
    re.IGNORECASE,
)
_SPEAKS_OF_TALK = re.compile(rf"\b{_TALK}\b", re.IGNORECASE)
_NOTE_LENGTH = 600
# Characters of a text that are compared; summaries are shorter.
_MAX_COMPARED = 40_000
# Minimum characters of a quoted answer: shorter ones (`ok`) occur by chance in many other messages.
_TELLING = 40
# Of an answer that was asked for as a summary, so many characters and words are enough.
_TELLING_SUMMARY, _WORDS_OF_SUMMARY = 16, 3
# A repetition shares this part of the rows of four words of the shorter text, which has at least so many rows.
_ROW, _MIN_ROWS, _SHARED_ROWS = 4, 8, 0.6
# A restatement shares with several removed messages many facts, and half of its own; or so many telling words, two of
# them facts (or so many words without facts), and this part of its telling words. On 39,800 pairs of recorded tasks,
# the first message of another task never did.
_MANY_FACTS, _MIN_WORDS, _MIN_FACTS, _MIN_WORDS_WITHOUT_FACTS, _SHARED_WORDS = 3, 4, 2, 12, 0.4
_LETTER_WITHOUT_SPACES = "\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_LETTER_WITHOUT_SPACES}]|[^\W_{_LETTER_WITHOUT_SPACES}]+")
_IN_TERM = rf"[^\W{_LETTER_WITHOUT_SPACES}]"
# Two neighbouring letters of Han, Kana and Hangul, not both Hiragana, which have most grammatical endings; four of
# Thai, Lao and Khmer, which are alphabets.
_PAIR = re.compile(
    "(?=((?![\u3040-\u309f]{2})[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}|[\u0e00-\u0eff\u1780-\u17ff]{4}))"
)
# So many of these say as much as one word. Of a longer text, only the beginning is read for them.
_PAIRS_OF_WORD, _MAX_PAIRED = 4, 4_000
_TERM = re.compile(rf"{_IN_TERM}{{1,255}}(?:[./@-]{_IN_TERM}{{1,255}}){{0,32}}")
_FACT = re.compile(r"\d|\w[_./@]\w|[a-z][A-Z]")
_STEM = 5
# A text in which somebody speaks for himself, greets or asks is what a user says, and no account of a conversation.
_SPEAKS = re.compile(
    r"[?\uff1f]|\b(?:i|me|my|mine|you|your|please|hello|hi|hey|ich|mir|mein\w{0,2}|bitte|hallo|je|moi|mon|ma|mes|bonjour"
    r"|yo|mi|mis|hola|quiero|io|mio|mia|ciao|eu|meu|minha|ik|mij|mijn|proszę|lütfen|merhaba"
    r"|я|мне|меня|мо[йюяиё]|вы|вас|вам|ваш\w{0,3}|пожалуйста|здравствуйте|привет)\b"
    "|我|你|您|[请請](?!求)|吗|嗎|私|僕|ください|お願い|ですか|ますか|こんにちは"
    "|저는|제가|안녕하세요|주세요|나요|까요|습니까|ฉัน|ผม|คุณ|ค่ะ|ครับ|ไหม|สวัสดี",
    re.IGNORECASE,
)
# An account shares so many telling words with the removed messages, several of them.
_MIN_WORDS_OF_ACCOUNT = 3
_QUOTED_WHOLE = 24


def says_summary(text: str) -> bool:
    """Whether a text begins by saying that it is a summary, and not by asking for one."""
    beginning = text[:_BEGINNING]
    return bool(_IS_SUMMARY.search(beginning)) and not _WANTS_SUMMARY.search(beginning)


def asks_for_summary(text: str) -> bool:
    """Whether a text asks for a summary."""
    return _WANTS_SUMMARY.search(text) is not None


def repeats(text: str, answer: str) -> bool:
    """Whether most of the shorter text is in the other one: a program may put a model's answer into a message, or take
    a part out of it. Short texts never do."""
    if min(len(text), len(answer)) >= _TELLING and (answer in text or text in answer):
        return True
    rows, others = _rows(text[:_MAX_COMPARED]), _rows(answer[:_MAX_COMPARED])
    least = min(len(rows), len(others))
    return least >= _MIN_ROWS and len(rows & others) >= _SHARED_ROWS * least


def quotes_summary(text: str, summary: str) -> bool:
    """Whether a text is a summary, or ends with it: for an answer that was asked for as one, which may be short."""
    summary = summary.strip()
    is_telling = len(summary) >= _TELLING_SUMMARY and len(summary.split()) >= _WORDS_OF_SUMMARY
    return is_telling and text.rstrip().endswith(summary)


def may_restate(text: str) -> bool:
    """Whether a text has words enough to restate others, and does not begin by asking for a summary."""
    return len(_terms(text)) >= _MIN_WORDS and not asks_for_summary(text[:_BEGINNING])


def restates(text: str, removed: Sequence[str], known: Iterable[str]) -> bool:
    """Whether a text restates what several of the removed messages say, with words that are not in `known` (what the
    model is told anyway, and the message that began the conversation)."""
    if not may_restate(text) or sum(len(one) >= _QUOTED_WHOLE and one in text for one in removed) > 1:
        return False  # a transcript, for a side question about the conversation
    said = _terms(text).difference(*map(_terms, known))
    by_message = [said & _terms(one) for one in removed]
    common = set[tuple[str, bool]]().union(*by_message)
    facts, all_facts = (sum(is_fact for _, is_fact in terms) for terms in (common, said))
    several = all(len(shared) < len(common) for shared in by_message)
    if facts >= _MANY_FACTS and 2 * facts >= all_facts:
        return several
    enough = _MIN_WORDS if facts >= _MIN_FACTS else _MIN_WORDS_WITHOUT_FACTS
    return several and len(common) >= max(enough, _SHARED_WORDS * len(said))


def gives_account(text: str, removed: Sequence[str], known: Iterable[str]) -> bool:
    """Whether a text in which nobody speaks for himself shares a few words with several of the removed messages: weaker
    than `restates`, for a list of messages that is known to be the same agent's, at the same work."""
    if _SPEAKS.search(text) or asks_for_summary(text[:_BEGINNING]):
        return False
    said = _terms(text).difference(*map(_terms, known))
    by_message = [said & _terms(one) for one in removed]
    common = set[tuple[str, bool]]().union(*by_message)
    return _words(common) >= _MIN_WORDS_OF_ACCOUNT and all(len(shared) < len(common) for shared in by_message)


def shares_words(one: str, other: str) -> bool:
    """Whether two texts have a telling word in common."""
    return _words(_terms(one) & _terms(other)) >= 1


def says_removed(text: str) -> bool:
    """Whether a text only says that messages were left out: it begins so, and is not long."""
    beginning = text[:_BEGINNING]
    return (
        len(text) <= _NOTE_LENGTH
        and _SAYS_REMOVED.search(beginning) is not None
        and _SPEAKS_OF_TALK.search(beginning) is not None
    )


def shares_facts(one: str, other: str) -> bool:
    """Whether two texts have a number, an identifier or the like in common."""
    return any(is_fact for _, is_fact in _terms(one) & _terms(other))


def common_beginning(one: str, other: str) -> int:
    """The number of characters that two texts begin with alike."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


@lru_cache(maxsize=256)
def _rows(text: str) -> frozenset[tuple[str, ...]]:
    words = [word.casefold() for word in _WORD.findall(text)]
    return frozenset(tuple(words[at : at + _ROW]) for at in range(len(words) - _ROW + 1))


@lru_cache(maxsize=256)
def _terms(text: str) -> frozenset[tuple[str, bool]]:
    """The telling words of a text, as (stem, is it a fact): numbers, identifiers, names of files, long words, and
    neighbouring letters of scripts without spaces."""
    terms: set[tuple[str, bool]] = set()
    for term in _TERM.findall(text[:_MAX_COMPARED]):
        if len(term) >= 3 and _FACT.search(term):
            terms.add((term.casefold(), True))
        elif len(term) >= 5:
            terms.add((term.casefold()[:_STEM], False))
    terms.update((pair, False) for pair in _PAIR.findall(text[:_MAX_PAIRED]))
    return frozenset(terms)


def _words(terms: Set[tuple[str, bool]]) -> int:
    """How many words these terms are."""
    pairs = sum(_PAIR.match(term) is not None for term, _ in terms)
    return len(terms) - pairs + pairs // _PAIRS_OF_WORD
