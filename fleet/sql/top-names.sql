/* SPDX-License-Identifier: GPL-2.0-only */
-- The heaviest functions (by their own samples), thread names or hosts of a fleet in the minutes of a window, or of the
-- hosts with a label, or of one host. For each: its samples, its hosts, the host with most of it, and that host's samples of it.
-- '' stands for idle CPUs, and for stacks that are not among the 200 heaviest of a minute.
SELECT name, toUInt64(sum(n)), toUInt64(count()), tupleElement(max((n, host)), 2), toUInt64(max(n))
FROM
(
    SELECT host, name, sum(samples) AS n
    FROM
    (
        SELECT host, samples, multiIf({by:String} = 'host', host, comm = 'swapper' OR stack = 0, '',
            {by:String} = 'thread', comm, leaf) AS name
        FROM
        (
            SELECT toString(host) AS host, toString(comm) AS comm, stack, sum(samples) AS samples
            FROM minutes FINAL
            WHERE minute >= {first_minute:UInt32} AND minute <= {last_minute:UInt32}
                AND ({host:String} = '' OR host = {host:String})
                AND ({label:String} = '' OR host GLOBAL IN
                (
                    SELECT host
                    FROM facts
                    WHERE name = concat('label/', {label:String}) AND value = {value:String}
                        AND day >= {first_day:UInt32} AND day <= {last_day:UInt32}
                ))
            GROUP BY host, comm, stack
        ) AS m
        GLOBAL ANY LEFT JOIN
        (
            SELECT stack, if(any(frames)[1] = '', concat('[', any(modules)[1], ']'), toString(any(frames)[1])) AS leaf
            FROM stacks
            WHERE stack GLOBAL IN
            (
                SELECT stack
                FROM minutes
                WHERE minute >= {first_minute:UInt32} AND minute <= {last_minute:UInt32}
                    AND ({host:String} = '' OR host = {host:String})
            )
            GROUP BY stack
        ) AS k USING stack
    ) AS l
    GROUP BY host, name
) AS h
GROUP BY name
ORDER BY sum(n) DESC, name
LIMIT 100000
FORMAT RowBinary
