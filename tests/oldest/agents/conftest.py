"""Frameworks that leave connections open: see the fixture."""

from tests.agents.conftest import what_packages_leave_open_is_found_in_a_test

__all__ = ["what_packages_leave_open_is_found_in_a_test"]
