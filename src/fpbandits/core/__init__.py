"""Code that knows nothing of bandits: arrays, argument checks, files, statistics, streams, HTML."""
