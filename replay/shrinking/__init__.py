"""Shrinking: from a trace that fails to a shortest one that fails in the same way."""
