"""What names of tools say."""

import pytest

from playhead_collector.analysis.suspects.wording import acts


@pytest.mark.parametrize(
    ("tool", "changes"),
    [
        ("look_up_order", False),
        ("track_parcel", False),
        ("orders.getOrder", False),
        ("refund", True),
        ("cancel_reservation", True),
        ("transfer_to_human", False),
    ],
)
def test_a_tool_changes_something_if_its_name_begins_with_no_verb_of_looking(tool: str, changes: bool):
    assert acts(tool) is changes
