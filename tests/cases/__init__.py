"""Failures that people reported in public, each as a test with its right value."""
