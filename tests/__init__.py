"""The test suites; `tests.corpus` and `tests.support` are shared by several of them."""
