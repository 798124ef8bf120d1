"""Benchmarks: seamstream next to the tools that people use today, both sides in the same run, as ratios."""
