"""[read]: how many contents are stored, and their bytes, by what they are, by tier and by age.  Pure.

Contents that are rows and packs are sampled apart: of rows, each content is an item of the sample, of packs each pack.
"""

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, get_args

from playhead.model.content_kinds import CONTENT_KINDS
from playhead.wire.operations.storage import UNKNOWN_KIND, Amount, ContentTotals, StoredContentKind
from playhead_collector.read.estimates import Pair, add, measured, projected
from playhead_collector.store.ports.contents import ContentTier
from playhead_collector.store.ports.storage import ContentSample, SampledContent

_BYTES_PER_TOKEN = 4
# Days since a content was first stored, at most, and the name of the group.
_AGES: Final = ((0, "today"), (7, "7_days"), (30, "30_days"), (90, "90_days"), (365, "1_year"))
_OLDER: Final = "older"


class StoredCounts(NamedTuple):
    """How many contents are rows, and how many packs there are, as Postgres counts them; None: not known."""

    rows: int | None
    packs: int | None


class ContentFilter(NamedTuple):
    """Which contents are counted; None: whatever it is. `before`: those that were stored before this day."""

    kind: StoredContentKind | None = None
    tier: ContentTier | None = None
    before: datetime.date | None = None

    def takes(self, content: SampledContent) -> bool:
        """Whether a content is one of these."""
        return (
            self.kind in (None, kind_name(content))
            and self.tier in (None, content.tier)
            and (self.before is None or content.stored_until < self.before)
        )


ALL_CONTENTS: Final = ContentFilter()


def kind_name(content: SampledContent) -> StoredContentKind:
    """Returns the name of a content's kind."""
    return content.kind or UNKNOWN_KIND


def tier_name(content: SampledContent) -> str:
    """Returns the name of a content's tier."""
    return content.tier


def age_name(today: datetime.date, content: SampledContent) -> str:
    """Returns the name of the group of a content's age: `7_days` is at most 7 days, and more than the group before."""
    if content.first_stored is None:
        return UNKNOWN_KIND
    days = (today - content.first_stored).days
    return next((name for most, name in _AGES if days <= most), _OLDER)


_NAMES: Final[Sequence[str]] = (
    *CONTENT_KINDS,
    *get_args(ContentTier),
    *(name for _, name in _AGES),
    _OLDER,
    UNKNOWN_KIND,
)
_ORDER: Final[Mapping[str, int]] = {name: place for place, name in enumerate(_NAMES)}


def content_totals(sample: ContentSample, population: StoredCounts, of: ContentFilter = ALL_CONTENTS) -> ContentTotals:
    """Estimates the totals of the contents that the filter takes."""
    return _totals(
        sample,
        population,
        [[row] if of.takes(row) else [] for row in sample.rows],
        [[content for content in pack if of.takes(content)] for pack in sample.packs],
    )


def totals_by(
    sample: ContentSample,
    population: StoredCounts,
    name: Callable[[SampledContent], str],
    of: ContentFilter = ALL_CONTENTS,
) -> dict[str, ContentTotals]:
    """Estimates the totals of the contents that the filter takes, by name. Names of which the sample has no content are
    left out."""
    rows, packs = (
        [_grouped([row], name, of) for row in sample.rows],
        [_grouped(pack, name, of) for pack in sample.packs],
    )
    names = {group for item in (*rows, *packs) for group in item}
    return {
        group: _totals(
            sample, population, [row.get(group, ()) for row in rows], [pack.get(group, ()) for pack in packs]
        )
        for group in sorted(names, key=_ORDER.__getitem__)
    }


def _grouped(
    contents: Iterable[SampledContent], name: Callable[[SampledContent], str], of: ContentFilter
) -> dict[str, list[SampledContent]]:
    groups: dict[str, list[SampledContent]] = {}
    for content in contents:
        if of.takes(content):
            groups.setdefault(name(content), []).append(content)
    return groups


def _totals(
    sample: ContentSample,
    population: StoredCounts,
    rows: Sequence[Sequence[SampledContent]],
    packs: Sequence[Sequence[SampledContent]],
) -> ContentTotals:
    """`rows` and `packs`: of each item of the sample, the contents that count."""

    def total(measure: Callable[[SampledContent], float]) -> Amount:
        of_rows = [Pair(sum(map(measure, item)), 1) for item in rows]
        of_packs = [Pair(sum(map(measure, item)), 1) for item in packs]
        return add(
            projected(of_rows, population.rows, is_all=sample.is_all),
            projected(of_packs, population.packs, is_all=sample.are_all_packs),
        )

    tokens = total(_tokens)
    return {
        "contents": total(lambda _: 1),
        "bytes": total(lambda content: content.size),
        "stored_bytes": total(lambda content: content.stored_bytes),
        "tokens": measured(tokens["value"], exact=False, low=tokens["low"], high=tokens["high"]),
    }


def _tokens(content: SampledContent) -> float:
    return content.size / _BYTES_PER_TOKEN if content.tokens is None else content.tokens
