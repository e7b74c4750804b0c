"""Benchmarks: ratios in one run, against the peer and against the hardware's limit. Run with `make bench`."""
