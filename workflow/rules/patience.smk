"""Keeps hold of submitted jobs while Slurm does not answer.

The executor plugin (2.8.0, pinned in uv.lock) asks a few times; if nobody answers, it drops
every job of that check without a word: they are neither running nor ended, and Snakemake
waits for them forever. A controller that is away for some seconds is enough. A test kills
slurmctld in the middle of a block, so a plugin that mends this will be noticed.
"""


def keep_unanswered(check):
    """A status check after which jobs that nobody told anything of are still active."""

    async def check_active_jobs(self, active_jobs):
        # The first, empty checks come before the plugin has set up its counters.
        answers = self._status_query_calls if active_jobs else None
        still_active = [job async for job in check(self, active_jobs)]
        if active_jobs and self._status_query_calls == answers:
            still_active = active_jobs
        for job in still_active:
            yield job

    return check_active_jobs


if workflow.is_main_process and SYSTEM.batch_system == "slurm":
    # Only here: nobody else needs the plugin.
    from snakemake_executor_plugin_slurm import Executor

    Executor.check_active_jobs = keep_unanswered(Executor.check_active_jobs)
