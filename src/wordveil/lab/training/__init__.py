"""Hyperbolic embeddings learnt from IS-A pairs."""
