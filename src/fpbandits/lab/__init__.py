"""The lab: a local page where a set of models is edited, analyzed, played and watched.

The flow of data::

    edits, files ─→ sheet ─→ reading: a Problem, or marks ─┬→ analysis: what can be learned
                                                           ├→ forecast: what playing will cost
                                                           ├→ play: simulations
                                                           └→ watch: one run
    a service's store ─→ following, reports ─→ live: its experiments

`models`, `analysis`, `forecast`, `play`, `watch` and `live` are the parts of the page, made of
`parts`; `page` puts them together, and `server` serves it, to this machine only. `session` holds
the sheet of one browser tab, with undo. The other modules do not depend on the page.
"""
