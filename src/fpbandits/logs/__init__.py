"""Logs of decisions and rewards, read and checked."""
