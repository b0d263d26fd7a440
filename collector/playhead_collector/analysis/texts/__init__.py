"""[analysis]: texts prepared for search: words, numbers, dates, JSON records, passages.  Pure; linear in time."""
