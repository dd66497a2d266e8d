"""Python's collector of cycles after `garbage.settle`, tested in a separate process."""

import subprocess
import sys

LOOKED_THROUGH = """
import gc, weakref
import sqlalchemy
from chassis.runtime import garbage

class Node: pass

def cycle():
    node = Node()
    node.itself = node
    return weakref.ref(node)

loaded = len(gc.get_objects())
garbage.settle()
left = len(gc.get_objects())
early = cycle()
made = [cycle() for _ in range(30_000)]
print(left < loaded / 100, early() is None)
"""


def test_what_was_loaded_is_not_looked_through_again_and_cycles_made_later_still_go() -> None:
    done = subprocess.run([sys.executable, "-c", LOOKED_THROUGH], capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n"
