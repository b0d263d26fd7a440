"""A program that seeds `random` gets the numbers that it expects, whatever is recorded and delivered meanwhile."""

import ast
import random
from pathlib import Path

from playhead.export.expiry import DeadLaneExpiry
from playhead.journal.quota import Quota
from playhead.wire.delays import backoff_delays

SOURCES = sorted((Path(__file__).parents[2] / "src").rglob("*.py"))


def test_delays_and_choices_leave_the_program_s_generator_alone(tmp_path: Path) -> None:
    before = random.getstate()
    next(backoff_delays())
    Quota(1_000_000, lambda: 0.0).is_first_measurement_due()
    DeadLaneExpiry(tmp_path, 3600.0).run_once(tmp_path / "own")
    assert random.getstate() == before


def test_no_module_draws_from_it() -> None:
    drawing = {path.name for path in SOURCES if drawn(path) - {"Random", "SystemRandom"}}
    assert drawing == {"recorded_values.py"}  # which records what a program draws


def drawn(path: Path) -> set[str]:
    """What a module uses of `random`."""
    text = path.read_text(encoding="utf-8")
    if "random." not in text:
        return set()
    return {
        node.attr
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "random"
    }
