"""Figures as ratios to a floor measured in the same run. Timings are printed, never asserted."""
