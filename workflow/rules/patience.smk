"""What is done about submitted jobs while Slurm does not answer, and when we are told to end.

The executor plugin (2.8.0, pinned in uv.lock) asks a few times; if nobody answers, it drops
every job of that check without a word: they are neither running nor ended, and Snakemake
waits for them forever. A controller that is away for some seconds is enough. A test kills
slurmctld in the middle of a block, so a plugin that mends this will be noticed.
"""

import signal
import time

from snakemake.exceptions import WorkflowError

from parity.core.errors import UserError


def keep_unanswered(check, patience_minutes):
    """A status check after which jobs that nobody told anything of are still active.

    One that has got no answer for too long ends the workflow.
    """
    answered = time.monotonic()

    async def check_active_jobs(self, active_jobs):
        nonlocal answered
        # The first, empty checks come before the plugin has set up its counters.
        answers = self._status_query_calls if active_jobs else None
        still_active = [job async for job in check(self, active_jobs)]
        if not active_jobs or self._status_query_calls != answers:
            answered = time.monotonic()
        else:
            still_active = active_jobs
            if time.monotonic() - answered > 60 * patience_minutes:
                problem = UserError(
                    f"Slurm has not answered for {patience_minutes:g} minutes",
                    where="patience_minutes of the system's file",
                    action="when it answers, start the same command again: its jobs may have gone"
                    " on, and what they made is kept",
                )
                raise WorkflowError(str(problem))
        for job in still_active:
            yield job

    return check_active_jobs


def interrupt(number, frame):
    """End as at Ctrl+C, which takes jobs out of the queue."""
    raise KeyboardInterrupt


if workflow.is_main_process and SYSTEM.batch_system == "slurm":
    # Only here: nobody else needs the plugin.
    from snakemake_executor_plugin_slurm import Executor

    Executor.check_active_jobs = keep_unanswered(
        Executor.check_active_jobs, SYSTEM.patience_minutes
    )


onstart:
    # At SIGTERM Snakemake by itself waits for all jobs that it has in a queue.
    if workflow.is_main_process and SYSTEM.batch_system:
        signal.signal(signal.SIGTERM, interrupt)
