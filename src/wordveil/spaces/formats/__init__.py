"""The forms in which an embedding lies on disk, one module each."""
