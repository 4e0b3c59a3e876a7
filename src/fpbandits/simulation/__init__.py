"""Exact Monte Carlo at any horizon."""
