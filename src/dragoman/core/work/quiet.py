"""Silences Dask's log, in this process and in processes forked from one that has imported this module.

Dask's messages about lost workers and ending commands belong in the logs of a scheduler.
"""

import logging

import distributed  # sets its own levels when it is imported

for _name in (
    distributed.__name__,
    "distributed.client",
    "distributed.comm",
    "distributed.core",
    "tornado.application",
):
    logging.getLogger(_name).setLevel(logging.CRITICAL)
