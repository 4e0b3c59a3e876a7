"""The lab: a local page where a set of models is edited, analyzed, played and watched.

The flow of data::

    edits, files ─→ sheet ─→ reading: a Problem, or marks ─┬→ analysis: what can be learned
                                                           ├→ play: simulations
                                                           └→ watch: one run

`sheet`, `reading`, `examples`, `heat`, `precompile`, `simulations`, `run` and `following` do not
depend on the page. `session` holds the sheet of one browser tab, with undo. `models`, `analysis`,
`play`, `watch` and `live` are the parts of the page, `page` puts them together, and `server` serves
it, to this machine only.
"""
