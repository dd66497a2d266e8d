"""The commands of `./dev`."""

import argparse
import sys

from local import lock, servers
from local.processes import NotReady


def tell(line: str) -> None:
    print(f"· {line}", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("lock")
    server = commands.add_parser("servers")
    server.add_argument("what", choices=["up", "down"])
    arguments = parser.parse_args()
    try:
        if arguments.command == "lock":
            return lock.main()
        if arguments.what == "up":
            servers.up(tell)
        else:
            servers.down()
    except NotReady as error:
        print(f"dev: {error}", file=sys.stderr)
        return 1
    return 0
