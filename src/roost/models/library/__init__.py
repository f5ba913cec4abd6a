"""Models reached through pydantic-ai's model layer. Nothing outside the package sees its types."""
