"""The wire without I/O: frames, the handshake, the method table, and values as clients read them."""
