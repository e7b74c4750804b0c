"""Benchmarks: ratios to the peers and to the hardware's limit, measured in one run. Run them with `make bench`."""
