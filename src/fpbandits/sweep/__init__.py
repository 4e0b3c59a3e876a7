"""Studies of your own: many problems, truths, policies, horizons and seeds, from one file."""
