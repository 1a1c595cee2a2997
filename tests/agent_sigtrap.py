# ctest: TIMEOUT 1800
"""Programs of every kind under the sigtrap engine; and under what an ordinary user gets."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from agent_matrix import *


def test_every_program():
    run_all("sigtrap")


def test_as_an_ordinary_user():
    run_all(None, before=ordinary_user(), only=lambda index: index % 3 == 0)


main(globals())
