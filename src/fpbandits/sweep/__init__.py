"""Studies: every combination of problems, truths, policies, horizons and seeds in one file."""
