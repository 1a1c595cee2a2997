# ctest: TIMEOUT 1800
"""Programs of every kind under the engine of POSIX timers, asked for by name or because perf_event_open is denied."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent_matrix import *


def test_every_program():
    run_all("cpu-timer")


def test_where_perf_is_denied():
    run_all(None, before=without_perf(), only=lambda index: index % 2 == 0)


def test_where_perf_is_denied_to_an_ordinary_user():
    run_all(None, before=[*ordinary_user(), *without_perf()], only=lambda index: index % 3 == 2)


main(globals())
