"""Implementations of the SecretScanner port: one on RE2, one on the standard library."""
