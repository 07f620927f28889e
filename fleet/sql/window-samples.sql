/* SPDX-License-Identifier: GPL-2.0-only */
-- The samples of a host in a window, in the order of time.
SELECT ts, cpu, pid, tid, comm, cgroup, period, stack
FROM samples FINAL
WHERE host = {host:String}
    AND minute >= {first_minute:UInt32} AND minute <= {last_minute:UInt32}
    AND ts >= {from:UInt64} AND ts < {to:UInt64}
ORDER BY ts, cpu, tid
FORMAT RowBinary
