"""Decisions as a service: over HTTP, durable, for many units, each with an agent of its own.

A *unit* is whatever has one truth of its own: a user, a radio link, or the one word "all". An
*experiment* is a problem, a policy and a seed under a name, and never changes. Data flows one way::

    http        a request comes in as JSON; `tokens` says who may, `messages` what can be asked
    batches     requests that arrive together are one transaction, and are answered after it
    store       … which locks their units, reads their states (`sqlite`, `postgres`)
    step        … turns each: a unit's state and a request → a new state, events, an answer
    store       … and writes the states and the events, and commits

The *log* of events is all that ever happened, append-only; a unit's state is what follows from its
events, kept so that nobody has to play them again. `verify` does it all the same, and says whether
every decision is as logged. `export` turns the log into what `fit` reads; `migrate` starts a new
experiment from it. `client` is the other end of the line.
"""
