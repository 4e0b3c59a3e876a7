"""Tools that do not depend on bandits: arrays, checks, files, statistics, streams, markup."""
