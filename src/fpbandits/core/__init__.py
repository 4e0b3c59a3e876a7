"""What knows nothing of bandits: arrays, checks, files, statistics, random streams, markup."""
