"""Oracles that owe nothing to the code under test: the SDKs' accumulators and a small wire reader."""
