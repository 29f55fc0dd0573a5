"""Explanation: which mechanisms account for runs, and what tells two of them apart."""
