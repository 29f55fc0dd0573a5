"""Predictions: what a model says before anyone looks, and what came of it."""
