"""What a problem allows, computed before any arm is played: its structure, and bounds on regret."""
