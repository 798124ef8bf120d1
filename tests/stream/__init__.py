"""The typed stream on real sockets, its checkpoints and who takes a run over."""
