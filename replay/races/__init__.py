"""Races for one interrupt: arrivals at points of progress, and at real times."""
