"""The lab: a local page where a set of models is edited, analyzed, played and watched.

The way of the data::

    cells of text ─ sheet ─→ Problem, or marks at what is wrong ─┬→ free: what can be learned
    (session: undo, tell) ←── edits, pasted cells, files        ├→ play: simulations that grow
                                                                 └→ watch: one run, step by step

`sheet`, `examples`, `heat`, `ahead`, `playing`, `run` and `following` are plain functions and
classes, which know no page. `session` holds what one browser tab has open. `models`, `free`,
`play`, `watch` and `live` are the parts of the page, `page` puts them together, and `server` serves
it, on this machine alone.
"""
