"""Loggers: what a user's own application tells of itself, for `mbt validate` (docs/validation.md).

They need the framework that they listen to, and nothing of mbt's harness.
"""
