"""What follows from a problem before any arm is played: its structure, and bounds on regret."""
