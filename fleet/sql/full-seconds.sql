/* SPDX-License-Identifier: GPL-2.0-only */
-- The seconds in which a CPU had no idle time, in the samples that hosts shipped in full: at least 95 % of at least 10
-- samples were not idle. A second in which more than half of the host's CPUs were full does not count. For each: host,
-- CPU, second, and the thread name with most samples.
SELECT host, toUInt64(full_cpu.1), toUInt64(second), full_cpu.2
FROM
(
    SELECT host, second, count() AS cpus, groupArrayIf((cpu, thread), busy * 100 >= whole * 95 AND whole >= 10) AS full
    FROM
    (
        SELECT host, second, cpu, sum(n) AS whole, sumIf(n, tid_is_busy = 1) AS busy,
            tupleElement(max((if(tid_is_busy = 1, n, 0), comm)), 2) AS thread
        FROM
        (
            SELECT toString(host) AS host, cpu, intDiv(ts, 1000000) AS second, toString(comm) AS comm,
                toUInt8(tid != 0) AS tid_is_busy, count() AS n
            FROM samples FINAL
            WHERE minute >= {first_minute:UInt32} AND minute <= {last_minute:UInt32}
                AND ts >= {from:UInt64} AND ts < {to:UInt64}
                AND ({label:String} = '' OR host GLOBAL IN
                (
                    SELECT host
                    FROM facts
                    WHERE name = concat('label/', {label:String}) AND value = {value:String}
                        AND day >= {first_day:UInt32} AND day <= {last_day:UInt32}
                ))
            GROUP BY host, cpu, second, comm, tid_is_busy
        ) AS t
        GROUP BY host, second, cpu
    ) AS c
    GROUP BY host, second
    HAVING length(full) > 0 AND length(full) * 2 <= cpus
) AS s
ARRAY JOIN full AS full_cpu
ORDER BY host, full_cpu.1, second
LIMIT 1000000
FORMAT RowBinary
