"""What playing will cost, before anyone plays."""
