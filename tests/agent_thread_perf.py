# ctest: TIMEOUT 1800
"""Programs of every kind under the engine with one perf event a thread."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent_matrix import *


def test_every_program():
    run_all("thread-perf")


def test_as_an_ordinary_user():
    run_all("thread-perf", before=ordinary_user(), only=lambda index: index % 3 == 1)


main(globals())
