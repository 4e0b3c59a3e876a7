"""fpbandits: bandits whose unknown environment is one of a finite set of known models.

>>> import fpbandits as fpb
>>> problem = fpb.Problem.bernoulli([[.9, .5], [.2, .5]], arms=["a", "b"], models=["x", "y"])
>>> fpb.analyze(problem, truth="x").cases[0].regime
'bounded'

Public names are imported when they are first used, so that light commands start at once.
``__init__.pyi`` lists them, for this module and for type checkers.
"""

import lazy_loader

__version__ = "0.10.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
