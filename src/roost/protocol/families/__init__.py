"""The methods there are, one module a family."""
