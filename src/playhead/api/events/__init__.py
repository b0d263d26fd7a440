"""What a program records besides its calls: events and metrics of its own, warnings, checkpoints."""
