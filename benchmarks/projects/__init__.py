"""Measurements with several projects on one collector."""
