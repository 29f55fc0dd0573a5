"""Reproduction: a run of a receipt as a test, or as a script without mbt."""
