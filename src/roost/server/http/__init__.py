"""What the gateway answers over plain HTTP, beside its sockets."""
