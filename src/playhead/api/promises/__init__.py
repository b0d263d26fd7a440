"""What a run waits for: approvals, answers of people, events from outside; and requests to stop."""
