"""Experiments: mechanisms compared, and the tables and figures of the papers done again."""
