"""`Agent`: a policy, live."""
