"""What a retention policy says about a run."""

import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead_collector.retain.policy import (
    DAY_NS,
    BadPolicy,
    TierLimit,
    decide,
    is_sampled,
    next_step,
    parse_duration,
    parse_policy,
)
from playhead_collector.store.ports.tiers import RunAge, Tier

RUN = "0198" + "a" * 28
ALL = {"hot": "7d", "warm": "30d", "cold": "1y", "archive": "7y"}


def run(**changes: Any) -> RunAge:
    return replace(RunAge(RUN, Tier.HOT, 0, "succeeded", ("support",), ("beta",)), **changes)


@pytest.mark.parametrize(
    ("text", "days"), [("1d", 1), ("24h", 1), ("2w", 14), ("1y", 365), ("999999d", 999_999), ("12h", 0.5)]
)
def test_durations(text: str, days: float):
    assert parse_duration(text, "hot") == days * DAY_NS


@pytest.mark.parametrize(
    "wrong", ["", "7", "d", "0d", "-1d", "1.5d", "7 d", "7m", "1000000d", "Forever", 7, None, "\uff17d"]
)
def test_what_is_no_duration_is_named(wrong: object):
    with pytest.raises(BadPolicy, match=r"^default\.hot: .* is no duration"):
        parse_duration(wrong, "default.hot")


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        ([], "policy: [] is no table"),
        ({"defaults": {}}, "policy: does not know 'defaults': use default, rules"),
        ({"default": {"hott": "1d"}}, "default: does not know 'hott'"),
        ({"default": {"hot": "7d", "cold": "7d"}}, "default.cold: ends before hot does"),
        ({"default": {"hot": "forever", "cold": "7d"}}, 'default.cold: never comes, since hot is "forever"'),
        ({"default": {"keep": 0.5}}, "default.keep: says what is deleted, but not when"),
        ({"default": {"keep": 0.5, "hot": "forever"}}, "default.keep: says what is deleted, but not when"),
        ({"default": {"keep": 1.5, "hot": "1d"}}, "default.keep: 1.5 is no share"),
        ({"default": {"keep": True, "hot": "1d"}}, "default.keep: True is no share"),
        ({"default": {"contents": 0}}, "default.contents: 0 is neither true nor false"),
        ({"rules": {}}, "rules: write a list of rules"),
        ({"rules": [{"hot": "1d"}]}, "rules[1]: has no condition"),
        ({"rules": [{"outcome": "bad"}]}, "rules[1].outcome: 'bad' is no outcome: use cancelled, crashed"),
        ({"rules": [{"agent": [""]}]}, "rules[1].agent: write a text, or a list"),
        ({"rules": [{"agent": 7}]}, "rules[1].agent: write a text, or a list"),
        ({"rules": [{"agent": "a", "name": "x"}, {"agent": "b", "name": "x"}]}, "rules: two are named 'x'"),
        ({"rules": [{"agent": "a", "name": "default"}]}, "rules[1].name: write a short text"),
        ({"rules": [{"agent": "a"}] * 101}, "rules: there are 101"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_place(policy: Any, sentence: str):
    with pytest.raises(BadPolicy, match="^" + re.escape(sentence)):
        parse_policy(policy)


def test_the_first_rule_that_fits_decides():
    policy = parse_policy(
        {
            "default": {"hot": "1d"},
            "rules": [
                {"name": "failed", "outcome": ["failed", "crashed"], "hot": "forever"},
                {"name": "beta support", "agent": "support", "tag": ["beta", "canary"], "hot": "9d"},
                {"name": "support", "agent": ["support"], "hot": "5d"},
            ],
        }
    )
    assert policy.rule_of(run(outcome="crashed")).name == "failed"
    assert policy.rule_of(run()).name == "beta support"
    assert policy.rule_of(run(tags=())).name == "support"
    assert policy.rule_of(run(agents=("billing", "sales"))).name == "default"
    assert policy.first_limit_ns == DAY_NS
    assert parse_policy({}).first_limit_ns is None


@pytest.mark.parametrize(
    ("days", "tier"),
    [(0, Tier.HOT), (6.9, Tier.HOT), (7, Tier.WARM), (30, Tier.COLD), (365, Tier.ARCHIVE), (7 * 365, Tier.DELETED)],
)
def test_ages_lead_through_the_tiers(days: float, tier: Tier):
    policy = parse_policy({"default": ALL})
    decision = decide(policy, run(), int(days * DAY_NS), has_objects=True)
    assert decision.moves_to == (None if tier is Tier.HOT else tier)


def test_without_an_object_store_warm_is_hot():
    policy = parse_policy({"default": ALL})
    assert decide(policy, run(), 20 * DAY_NS, has_objects=False).moves_to is None
    assert decide(policy, run(), 31 * DAY_NS, has_objects=False).moves_to is Tier.COLD
    step = next_step(policy, run(), has_objects=False)
    assert step is not None
    assert (step.tier, step.at_ns) == (Tier.COLD, 30 * DAY_NS)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"pinned": True}, "it is pinned"),
        ({"waiting": True}, "it waits for a promise"),
        ({"leased": True}, "a process goes on with it"),
        ({"dirty": True}, "it is not sealed yet"),
        ({"settled": False}, "it is not sealed yet"),
        ({"fork_tier": Tier.WARM}, "runs that were forked from it need its record"),
    ],
)
def test_roots_stay_and_it_is_said_why(changes: dict[str, Any], why: str):
    policy = parse_policy({"default": {"hot": "1d", "cold": "forever"}})
    decision = decide(policy, run(**changes), 2 * DAY_NS, has_objects=True)
    assert (decision.moves_to, decision.target, decision.kept) == (None, Tier.COLD, why)
    assert decision.why == "rule 'default': it ended 2 days ago"


def test_an_open_run_has_no_age():
    policy = parse_policy({"default": {"hot": "1d"}})
    assert decide(policy, run(ended_ns=None), 900 * DAY_NS, has_objects=True).target is None
    assert next_step(policy, run(ended_ns=None), has_objects=True) is None


def test_a_fork_that_went_before_makes_room():
    policy = parse_policy({"default": {"hot": "1d", "cold": "forever"}})
    assert decide(policy, run(fork_tier=Tier.COLD), 2 * DAY_NS, has_objects=True).moves_to is Tier.COLD


def test_what_is_gone_does_not_come_back_and_late_spans_are_packed_again():
    policy = parse_policy({"default": {"hot": "forever"}})
    assert decide(policy, run(tier=Tier.COLD), 2 * DAY_NS, has_objects=True).moves_to is None
    cold = parse_policy({"default": {"hot": "1d", "cold": "forever"}})
    again = decide(cold, run(tier=Tier.COLD, has_rows=True), 2 * DAY_NS, has_objects=True)
    assert again.moves_to is Tier.COLD
    assert again.why == "late spans came; rule 'default' has it in cold"


def test_sampled_keeping_deletes_the_others_at_the_end_of_the_first_tier():
    policy = parse_policy({"default": {**ALL, "keep": 0.5}})
    kept, gone = (
        next(f"{n:032x}" for n in range(99) if is_sampled(f"{n:032x}", 0.5) is which) for which in (True, False)
    )
    assert decide(policy, run(run=kept), 8 * DAY_NS, has_objects=True).moves_to is Tier.WARM
    decision = decide(policy, run(run=gone), 8 * DAY_NS, has_objects=True)
    assert decision.moves_to is Tier.DELETED
    assert decision.why.startswith("rule 'default' keeps 0.5 of its runs, and this one is not among them")
    assert decide(policy, run(run=gone), 6 * DAY_NS, has_objects=True).moves_to is None


def test_a_share_is_about_that_of_the_runs():
    runs = [f"{n:032x}" for n in range(20_000)]
    assert sum(is_sampled(each, 0.05) for each in runs) / len(runs) == pytest.approx(0.05, abs=0.008)
    assert all(is_sampled(each, 1.0) for each in runs)
    assert not any(is_sampled(each, 0.0) for each in runs)


@given(st.uuids(), st.floats(0, 1), st.floats(0, 1))
def test_who_is_kept_by_a_small_share_is_kept_by_a_greater_one(one: Any, share: float, other: float):
    low, high = sorted((share, other))
    assert not is_sampled(one.hex, low) or is_sampled(one.hex, high)


_AGES = st.lists(st.integers(1, 9_999), min_size=1, max_size=4, unique=True).map(sorted)


@st.composite
def policies(draw: st.DrawFn) -> dict[str, Any]:
    ages = draw(_AGES)
    tiers = sorted(draw(st.permutations(range(4)))[: len(ages)])
    names = ["hot", "warm", "cold", "archive"]
    members: dict[str, Any] = {names[tier]: f"{age}d" for tier, age in zip(tiers, ages, strict=True)}
    if draw(st.booleans()):
        members[names[tiers[-1]]] = "forever"
    members["keep"] = draw(st.sampled_from([1.0, 0.3]))
    if members["keep"] < 1 and members[names[tiers[0]]] == "forever":
        members["keep"] = 1.0
    return {"default": members}


@given(policies(), st.uuids(), st.lists(st.integers(0, 10_001), min_size=2, max_size=6), st.booleans())
def test_a_run_only_goes_down_and_comes_where_its_age_says(
    value: dict[str, Any], one: Any, days: list[int], has_objects: bool
):
    """However often somebody looks: in the end it is in the same tier."""
    policy = parse_policy(value)
    stepwise = at_once = run(run=one.hex)
    for day in sorted(days):
        decision = decide(policy, stepwise, day * DAY_NS, has_objects)
        if decision.moves_to is not None:
            assert decision.moves_to > stepwise.tier
            stepwise = replace(stepwise, tier=decision.moves_to)
        if stepwise.tier is Tier.DELETED:
            break
    decision = decide(policy, at_once, max(days) * DAY_NS, has_objects)
    assert stepwise.tier == (decision.moves_to or Tier.HOT)


@given(policies(), st.uuids(), st.integers(0, 10_001), st.booleans())
def test_the_next_step_is_what_will_be_decided_then(value: dict[str, Any], one: Any, day: int, has_objects: bool):
    policy, now = parse_policy(value), day * DAY_NS
    here = run(run=one.hex, tier=decide(policy, run(run=one.hex), now, has_objects).moves_to or Tier.HOT)
    if here.tier is Tier.DELETED:
        return
    step = next_step(policy, here, has_objects)
    if step is None:
        assert decide(policy, here, 10**6 * DAY_NS, has_objects).moves_to is None
    else:
        assert step.at_ns > now
        assert decide(policy, here, step.at_ns - 1, has_objects).moves_to is None
        assert decide(policy, here, step.at_ns, has_objects).moves_to is step.tier


@given(policies())
def test_limits_ascend(value: dict[str, Any]):
    limits: tuple[TierLimit, ...] = parse_policy(value).rules[-1].limits
    for before, after in pairwise(limits):
        assert before.tier < after.tier
        assert before.age_ns is not None
        assert after.age_ns is None or before.age_ns < after.age_ns
