"""Decisions as a service: over HTTP, durable, for many units, each with an agent of its own.

A *unit* is whatever has one truth of its own: a user, a radio link, or "all" if there is only one
truth. An *experiment* is a problem, a policy and a seed under a name, and never changes. A request
goes through these modules::

    http        reads a request as JSON; `tokens` says who may, `messages` what can be asked
    backend     finds the experiment
    batcher     gathers requests that arrive together; they are answered after the commit
    batches     serves them in one transaction of the store (`sqlite`, `postgres`), which locks
                their units and reads their states
    step        takes each: a unit's state and a request → a new state, events, an answer
    store       writes the states and the events, and commits

The *log* has every event, and is append-only. A unit's state follows from its events, and is kept
so that they need not be repeated for each request. `verify` repeats them, and says whether every
decision is as logged. `export` turns the log into a file that `fit` reads; `migrate` starts a new
experiment from it. `client` sends the requests.
"""
