"""The edits of the comparison with durable engines still fit the program that they edit."""

import pytest

from benchmarks.durable.changes import CHANGES, Change, changed, guarded, original


@pytest.mark.parametrize("change", CHANGES[1:], ids=lambda change: change.name.replace(" ", "-"))
def test_each_change_makes_another_program_that_can_be_run(change: Change):
    assert changed(change) != original(change)
    compile(original(change), "trip.py", "exec")
    compile(change.module, "bookings.py", "exec")
    compile(changed(change), "trip.py", "exec")


@pytest.mark.parametrize("change", CHANGES[1:], ids=lambda change: change.name.replace(" ", "-"))
def test_a_guarded_change_keeps_the_old_workflow_beside_the_new_one(change: Change):
    program = guarded(change)
    compile(program, "trip.py", "exec")
    if change.body:
        new, old = program.partition("if await engine.patch():")[2].split("return [plan", 1)
        booked_in_old = "= await booking()" if change.first else 'await book("LX1")'
        assert old.count(booked_in_old) == 1
        assert all(edit[1].split("\n")[0] in new for edit in change.body)
    if change.first:
        new, old = program.partition("if await engine.patch():")[2].split("return [plan", 1)
        assert all(edit[1].split("\n")[-1] in old for edit in change.first[1:])
        assert not any(edit[1].split("\n")[-1] in new for edit in change.first[1:])


def test_without_a_change_the_program_is_what_it_was():
    assert changed(CHANGES[0]) == original()
