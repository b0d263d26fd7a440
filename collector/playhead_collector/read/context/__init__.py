"""Answers what the model's exact input at a call was, and which messages were in its context at a moment."""
