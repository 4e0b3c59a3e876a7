"""Results for people: tables for the terminal, figures and pages.

It knows results by their types only, so that every other package can use it.
"""
