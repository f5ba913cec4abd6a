"""Ways to reach a model: adapters of the port `Model`, and wrappers around it."""
