"""Values of core as clients read them."""
