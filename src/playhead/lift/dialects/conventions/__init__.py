"""Conventions for spans of models and agents that many instrumentations follow."""
