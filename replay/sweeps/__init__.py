"""Sweeps: one thing measured at every point, store and release."""
