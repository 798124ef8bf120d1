"""Oracles that owe nothing to the code under test: the SDKs' own accumulators and a small reading of the wire."""
