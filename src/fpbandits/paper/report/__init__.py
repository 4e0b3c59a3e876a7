"""The report on the paper, drawn: its figures, chapter by chapter, and its page.

Everything here is made from the one `Material` it is given, and from claims that are judged.
"""
