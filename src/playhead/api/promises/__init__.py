"""Promises of a run: approvals, answers of people and events from outside that it waits for, and requests to stop."""
