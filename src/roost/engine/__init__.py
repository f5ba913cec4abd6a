"""Orchestration over the ports: from a message at the door to an answer delivered."""
