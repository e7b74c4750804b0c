"""Localizer."""
