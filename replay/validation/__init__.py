"""Validation: the log of a real application against a model."""
