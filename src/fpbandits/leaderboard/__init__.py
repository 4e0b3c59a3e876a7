"""Policies ranked on the same problems: the paper's, random ones, wrong models, or your own.

Every policy plays every contest it applies to, with arms and models shuffled in every run, so
that ties favour no policy. `contest` has the contests, `playing` simulates them, and `board` has
the standings and scores.

>>> from fpbandits.leaderboard import contests, play
>>> from fpbandits.policies import parse_policy
>>> two = {word: parse_policy(word) for word in ("optimist", "ucb1")}
>>> board = play(policies=two, among=contests("paper")[:1], runs=20, horizon=1000)
>>> board.ranking
['optimist', 'ucb1']
"""

from __future__ import annotations

from fpbandits.leaderboard.board import Leaderboard as Leaderboard
from fpbandits.leaderboard.board import Standing as Standing
from fpbandits.leaderboard.board import WorstTruth as WorstTruth
from fpbandits.leaderboard.contest import GROUPS as GROUPS
from fpbandits.leaderboard.contest import Contest as Contest
from fpbandits.leaderboard.contest import contests as contests
from fpbandits.leaderboard.contest import own_contests as own_contests
from fpbandits.leaderboard.playing import HORIZON as HORIZON
from fpbandits.leaderboard.playing import PRACTICE_HORIZON as PRACTICE_HORIZON
from fpbandits.leaderboard.playing import PRACTICE_RUNS as PRACTICE_RUNS
from fpbandits.leaderboard.playing import RUNS as RUNS
from fpbandits.leaderboard.playing import play as play
