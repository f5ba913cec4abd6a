"""What agents can do, one tool a file."""
