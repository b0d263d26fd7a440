"""store → [retain]: when what was deleted is collected."""
