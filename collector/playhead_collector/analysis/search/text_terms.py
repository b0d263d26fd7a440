"""[analysis]: terms of texts: hashes of words, by which the index finds the contents that may have them.  Pure.

A text has a term for each lexeme, and for each two words that are joined: `2024-05` and `05-20` of a date, the pairs of
neighbouring characters of Chinese. Two of these may have the same hash, very rarely, so a search also looks at the
text.
"""

from zlib import crc32

from playhead_collector.analysis.search.words import NO_LEXEMES, Lexemes, Word, lexeme_of, worded


def text_terms(text: str, lexemes: Lexemes = NO_LEXEMES) -> set[int]:
    """Returns the terms of a text, each a signed number of 32 bits."""
    read = worded(text, lexemes)
    found = {lexeme for lexeme, words in read.by_lexeme.items() if any(not is_common(word, lexemes) for word in words)}
    for words in read.by_place.values():
        for word in words:
            if word.following in read.joined:
                found.update(_pair(word, following, lexemes) for following in read.by_place[word.following])
    return set(map(_term, found))


def word_term(word: Word, lexemes: Lexemes) -> int:
    """Returns the term of a word, which texts have that have the word, unless it is a common one."""
    return _term(lexeme_of(word, lexemes))


def pair_term(first: Word, second: Word, lexemes: Lexemes) -> int:
    """Returns the term of two joined words."""
    return _term(_pair(first, second, lexemes))


def is_common(word: Word, lexemes: Lexemes) -> bool:
    """Whether the language leaves the word out of the index (`the`)."""
    return not lexemes.get(word.form, word.form)


def _pair(first: Word, second: Word, lexemes: Lexemes) -> str:
    return f"{lexeme_of(first, lexemes)} {lexeme_of(second, lexemes)}"  # no lexeme has a space


def _term(text: str) -> int:
    number = crc32(text.encode())
    return number - (1 << 32) if number >> 31 else number
