"""[cli]: commands for people who run a collector: start it, check settings, manage keys, delete runs."""
