"""Transcripts as files: import, export, and where they lie. What may be exported to whom is decided elsewhere."""
