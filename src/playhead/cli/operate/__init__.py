"""[cli]: commands for whoever runs a collector: start one, check settings, manage keys, delete runs."""
