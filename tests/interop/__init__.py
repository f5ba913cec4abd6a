"""Real clients of the protocol against a fresh gateway: `make interop`. No part of the suite, as it installs them."""
