"""Runs one operator command after the other in one process, because a new Python for each would cost the test suite
minutes.

Each line of standard input is a JSON array with a command's arguments. Each line of standard output is its result,
{code, output}. It runs `python -m ctl` itself, with its arguments and exit codes.
"""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout

from ctl.cli import main


def run(arguments: list[str]) -> dict[str, object]:
    output = io.StringIO()
    sys.argv = ["posthaste", *arguments]
    try:
        with redirect_stdout(output), redirect_stderr(output):
            main()
        code: object = 0
    except SystemExit as end:
        code = end.code or 0
    return {"code": code, "output": output.getvalue()}


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)
