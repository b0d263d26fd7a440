"""capture → [refs] → journal.  Redaction, then payload → content and ref, each once per process."""
