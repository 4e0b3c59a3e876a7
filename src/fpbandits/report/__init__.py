"""What all tables, figures and pages share: layout, style, number formats.

It imports only `core`, so every other package can use it.
"""
