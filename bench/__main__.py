"""`./dev bench [name]`: runs the benchmarks and prints their results, mostly as ratios to floors that are measured in
the same run. A missed goal does not fail the run.

Names: start, requests, due, upload, webhooks, tracing, dashboard, media. Without a name runs all of them, and measures
the stack's memory before and after.
"""

import sys

from bench import dashboard, due_posts, footprint, renditions, requests_per_second, tracing, upload, webhooks
from bench.stack import Stack
from bench.table import render

NAMES = ("start", "requests", "due", "upload", "webhooks", "tracing", "dashboard", "media")


def main() -> int:
    names = sys.argv[1:] or list(NAMES)
    if unknown := [name for name in names if name not in NAMES]:
        print(f"bench: there is no benchmark {unknown[0]!r}; there are: {', '.join(NAMES)}", file=sys.stderr)
        return 2
    stack = Stack()
    rows = footprint.measure_memory(stack, "after up", 900)
    if "requests" in names:
        tell("requests: two minutes")
        rows += requests_per_second.measure(stack)
    if "due" in names:
        tell("due posts: two minutes")
        rows += due_posts.measure(stack)
    if "upload" in names:
        tell("uploads: half a minute")
        rows += upload.measure(stack)
    if "webhooks" in names:
        tell("webhooks: five minutes")
        rows += webhooks.measure(stack)
    if "tracing" in names:
        tell("tracing: five minutes, on two stacks in turn")
        rows += tracing.measure(stack)
    if "dashboard" in names:
        tell("dashboard: two minutes")
        rows += dashboard.measure(stack)
    if "media" in names:
        tell("pictures and videos for platforms: four minutes")
        rows += renditions.measure(stack)
    rows += footprint.measure_memory(stack, "after the bench", 1126.4)
    if "start" in names:
        tell("start: half a minute")
        rows.append(footprint.measure_start())
    stack.bus.close()
    print(render(rows))
    return 0


def tell(line: str) -> None:
    print(f"· {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
