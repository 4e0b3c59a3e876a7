"""Results for people: tables for the terminal, figures and pages.

What is shown is known here by its type alone, so that whoever computes it can show it.
"""
