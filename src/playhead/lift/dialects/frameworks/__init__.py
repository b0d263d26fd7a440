"""Frameworks that write spans under names of their own."""
