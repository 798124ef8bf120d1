"""Unmodified SDKs from npm read through a small proxy that recovers."""
