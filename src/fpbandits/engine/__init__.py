"""What a policy is, and how its rules are prepared, compiled, run live and leapt over."""
