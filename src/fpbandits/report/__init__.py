"""Layout, style and number formats that all tables, figures and pages share.

This package imports only `core`, so every other package can use it.
"""
