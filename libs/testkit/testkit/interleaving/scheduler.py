"""The scheduler of one run. It lets one thread at a time run to its next stop, and chooses where threads are cut."""

import random
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence

from testkit.interleaving.processes import Process, Thread, Try
from testkit.interleaving.runs import Cut, Ended, Killed, Run, Stuck

#: Returns those of these backends that wait for a lock of another transaction.
Blocked = Callable[[list[int]], set[int]]

#: PostgreSQL is asked for blocked backends only when a thread has not stopped for this long. Our choice.
_LOOK_SECONDS = 0.003
#: PostgreSQL ends a deadlock after 1 s and a wait for a lock after 5 s. A thread that waits longer than this is stuck.
_STUCK_SECONDS = 20.0
#: Probabilities that the scheduler switches to another thread at a stop. The seed chooses one of them.
_TURNS = (0.03, 0.1, 0.3, 1.0)
#: Probabilities that a thread is cut at a stop, while cuts are left. The seed chooses one of them.
_CUTS = (0.0, 0.02, 0.08)


class RunScheduler:
    """Lets the threads of one run continue one at a time, until all have ended."""

    def __init__(self, run: Run, tries: Sequence[Try], most_cuts: int, blocked: Blocked) -> None:
        self.run = run
        self._blocked = blocked
        self._tries = tries
        self._most_cuts = most_cuts
        self._random = random.Random(run.seed)
        self._turning, self._cutting = self._random.choice(_TURNS), self._random.choice(_CUTS)
        self._changed = threading.Condition()
        #: The number of stops and ends of threads, and how many of them the scheduler has handled.
        self._changes = self._seen = 0
        self._threads: dict[int, Thread] = {}
        self._own: list[Thread] = []
        self._last: Thread | None = None
        #: The only running thread, while all others wait at stops. It chooses the next thread itself, which saves two
        #: switches of threads in each step. None: the scheduler's own thread chooses when all threads have stopped.
        self._alone: Thread | None = None
        #: The number of choices that such threads have made.
        self._progress = 0
        #: A kill that such a thread has decided on. The scheduler's own thread carries it out.
        self._decided: tuple[Thread, Cut | None] | None = None
        self._is_over = False

    def go(self) -> None:
        """Starts a thread for each `Try`, and lets the threads continue until all have ended."""
        started = []
        for one in self._tries:
            started.append(threading.Thread(target=self._work, args=(one,), daemon=True))
            started[-1].start()
            self._settle()  # so that the threads get their numbers in this order
        while True:
            ready = [thread for thread in self._threads.values() if thread.stop is not None]
            if ready:
                self._step(ready)
                self._settle()
            elif all(thread.has_ended for thread in self._own):
                break
            else:
                self._await_change()
        for thread in started:
            thread.join()

    def end(self) -> None:
        """Ends the threads that are left: each that waits at a stop, or reaches one later, gets Killed. Otherwise
        helper threads would wait there for ever.
        """
        with self._changed:
            self._is_over, self._alone = True, None
            for thread in self._threads.values():
                if thread.stop is not None:
                    self._let_go(thread, Cut.KILL)

    def thread_of(self, process: Process) -> Thread:
        """Returns the calling thread. If it runs no `Try`, it counts as a helper thread of the process."""
        ident = threading.get_ident()
        with self._changed:
            if ident not in self._threads:
                name = f"{process.name}'s helper {len(self._threads)}"
                cuts = next(one.cuts for one in self._tries if one.process is process)
                self._threads[ident] = Thread(name, process, cuts, ident)
            return self._threads[ident]

    def wait_at(self, thread: Thread, stop: str, *, may_be_cut: bool = True) -> Cut | None:
        """Blocks the calling thread at a stop until it may continue. Returns how it was cut there, or None."""
        with self._changed:
            if thread.process.is_dead or self._is_over:
                return Cut.KILL
            thread.stop, thread.may_be_cut = stop, may_be_cut
            if self._alone is thread:
                self._decide_alone()
            else:
                self._note_change()
        thread.gate.acquire()
        return thread.cut

    def _decide_alone(self) -> None:
        """Chooses the thread that runs next, and whether it is cut. Called by a thread that reaches a stop while no
        other one runs.

        This saves waking the scheduler's own thread, which is woken only to kill a process.
        """
        self._progress += 1
        chosen, cut = self._decide([thread for thread in self._threads.values() if thread.stop is not None])
        if cut is Cut.KILL:
            self._decided = chosen, cut
            self._note_change()
        else:
            self._let_go(chosen, cut)

    def _work(self, one: Try) -> None:
        thread = self.thread_of(one.process)
        thread.name, thread.cuts = one.name, one.cuts
        self._own.append(thread)
        ended = self.run.ended[one.name] = Ended()
        self.wait_at(thread, "at its beginning", may_be_cut=False)
        try:
            if one.process.is_dead:
                raise Killed(one.process.name)
            ended.value = one.work()
        except BaseException as error:  # noqa: BLE001 - the test checks how it ended
            ended.error = error
        finally:
            with self._changed:
                thread.has_ended = True
                self._note_change()

    def _step(self, ready: list[Thread]) -> None:
        with self._changed:
            (thread, cut), self._decided = self._decided or self._decide(ready), None
        if cut is Cut.KILL:
            self._kill(thread.process)
        else:
            with self._changed:
                stand_still = not any(other.runs for other in self._threads.values())
                self._let_go(thread, cut)
                self._alone = thread if stand_still else None

    def _decide(self, ready: list[Thread]) -> tuple[Thread, Cut | None]:
        thread = self._choose(ready)
        cut = self._choose_cut(thread)
        self.run.trace.append(f"  {thread.name}: {thread.stop}{' ' + cut.value if cut else ''}")
        self.run.cuts += cut is not None
        return thread, cut

    def _choose(self, ready: list[Thread]) -> Thread:
        turns = self._random.random() < self._turning
        if self._last not in ready or turns:
            chosen = self._random.choice(ready)
            self.run.turns += self._last is not None and chosen is not self._last and not self._last.has_ended
            self._last = chosen
        assert self._last is not None
        return self._last

    def _choose_cut(self, thread: Thread) -> Cut | None:
        chance = self._random.random()
        if not thread.may_be_cut or not thread.cuts or self.run.cuts >= self._most_cuts:
            return None
        return self._random.choice(thread.cuts) if chance < self._cutting else None

    def _kill(self, process: Process) -> None:
        """Kills a simulated process: cancels its running SQL statements, and raises Killed in those of its threads that
        are stopped."""
        with self._changed:
            process.is_dead, self._alone = True, None
            threads = [thread for thread in self._threads.values() if thread.process is process]
        if any(thread.pid is not None for thread in threads):
            process.cancel()
        for thread in threads:
            if thread.stop is not None:
                self._let_go(thread, Cut.KILL)

    def _let_go(self, thread: Thread, cut: Cut | None) -> None:
        with self._changed:
            thread.stop, thread.cut, thread.slept_at = None, cut, None
            if self._alone is not None:
                self._alone = thread
            thread.gate.release()

    def _settle(self) -> None:
        """Waits until no thread can go on by itself: each has ended, or waits at a stop, for a lock in PostgreSQL or
        for another thread. Raises Stuck if no thread reaches a stop for 20 s.
        """
        end, progress = time.monotonic() + _STUCK_SECONDS, self._progress
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._changes != self._seen, _LOOK_SECONDS)
                seen = self._seen = self._changes
                moving = [thread for thread in self._threads.values() if thread.runs]
                if moving and progress != self._progress:
                    end, progress = time.monotonic() + _STUCK_SECONDS, self._progress
                    continue
            if set(moving) <= self._held_up(moving):
                with self._changed:
                    if seen == self._changes and (not moving or progress == self._progress):
                        self._alone = None
                        return
            self._check(end)

    def _held_up(self, moving: list[Thread]) -> set[Thread]:
        """Returns those of the threads `moving` that wait for a lock in PostgreSQL or for another thread.

        PostgreSQL is asked for the first kind only when every thread that runs no statement is asleep. Until then only
        threads that wait for another thread are returned.
        """
        if not moving:
            return set()
        running = [thread for thread in moving if thread.pid is None]
        held = {thread for thread in running if thread.is_asleep()}
        if len(held) < len(running):
            return held
        in_database = {thread.pid: thread for thread in moving if thread.pid is not None}
        blocked = self._blocked(list(in_database)) if in_database else set()
        return held | {thread for pid, thread in in_database.items() if pid in blocked}

    def _await_change(self) -> None:
        """Called when all threads wait for each other. Waits until one can continue, because PostgreSQL ends the
        deadlock. Raises Stuck if that takes more than 20 s.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._changes != self._seen, _STUCK_SECONDS):
                self._check(0.0)
        self._settle()

    def _check(self, end: float) -> None:
        """Raises Stuck, with the stack of each running thread, if the monotonic time is past `end`."""
        if time.monotonic() < end:
            return
        frames = sys._current_frames()
        stacks = [
            f"{thread.name}:\n{''.join(traceback.format_stack(frames[thread.ident]))}"
            for thread in self._threads.values()
            if thread.runs and thread.ident in frames
        ]
        raise Stuck("\n".join([str(self.run), *stacks]))

    def _note_change(self) -> None:
        self._changes += 1
        self._changed.notify_all()
