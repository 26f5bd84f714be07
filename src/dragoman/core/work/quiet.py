"""Keeps Dask quiet, in this process and in those that are forks of one that has loaded this.

What it has to say of lost workers, and of a command that ends, is for the logs of those who run a scheduler.
"""

import logging

import distributed  # sets its own levels when it is loaded

for _name in (
    distributed.__name__,
    "distributed.client",
    "distributed.comm",
    "distributed.core",
    "tornado.application",
):
    logging.getLogger(_name).setLevel(logging.CRITICAL)
