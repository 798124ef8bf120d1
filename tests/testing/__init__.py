"""Tests of the test tools: a fault that does not do what its name says would make every other test lie."""
