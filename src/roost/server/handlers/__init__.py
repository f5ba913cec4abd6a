"""Who answers which method, one module a family."""
