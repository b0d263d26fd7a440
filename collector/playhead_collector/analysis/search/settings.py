"""[analysis]: settings of the search."""

from dataclasses import dataclass

AS_THEY_ARE = "simple"
"""The text search configuration with which words are their own lexemes."""


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Settings of the search. `language`: text search configuration of Postgres; `characters`: searched characters of
    one content; `seconds`: longest time of one search, None: no limit."""

    language: str = AS_THEY_ARE
    characters: int = 32_768
    seconds: float | None = 10.0
