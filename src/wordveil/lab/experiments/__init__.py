"""Experiments: comparisons of mechanisms, and the tables and figures of the papers, reproduced."""
