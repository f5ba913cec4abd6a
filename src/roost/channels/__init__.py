"""Platforms on which people write, one module each."""
