# SPDX-License-Identifier: GPL-2.0-only
"""Lines that tests write into the kernel's log of this machine."""

import functools
import os
import time


@functools.cache
def device_of(_pid):
    return f"{os.urandom(2).hex()}:{os.urandom(1).hex()}:1f.0"


def device():
    """A PCI address that other tests do not write, because all tests, also earlier ones, share the
    kernel's log."""
    return device_of(os.getpid())


def stall(queue, usec=6596000):
    """A line of the network driver. Users can write such a line too, so it only counts where users are trusted."""
    return f"ena {device()} eth7: TX q {queue} is paused for too long (threshold 5000000). Time since last napi {usec} usec. napi scheduled: 1"


def write_kmsg(line):
    """Writes a line to the kernel's log. Returns the moment before and the moment after."""
    # the kernel limits how many lines it takes from one opened file
    with open("/dev/kmsg", "wb", buffering=0) as kmsg:
        before = time.time()
        kmsg.write(f"<3>{line}\n".encode())
        return before, time.time()
