"""The reproduction of the papers, and what only that uses. Nothing else in the package imports it."""
