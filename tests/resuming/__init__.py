"""Answers that are taken up again from a server that still has them."""
