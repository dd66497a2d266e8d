"""Runs one operator command after another in one process: a new Python for each would cost the suite minutes.

A line of standard input is the JSON array of a command's arguments; a line of standard output {code, output}.
What runs is `python -m ctl` itself, arguments and exit codes included.
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
