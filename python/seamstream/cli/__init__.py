"""The command line; `main.py` is where it begins."""
