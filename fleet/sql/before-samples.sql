/* SPDX-License-Identifier: GPL-2.0-only */
-- Threads and functions in the 5 s before each incident, against four windows of 5 s of the same host, from 30 to 10 s
-- before it. For each name: the incidents that have it, of those with samples of all five windows; those in which its
-- share is highest in the last one, and at least 1 %; the sums of its shares of all samples then, and of the mean of
-- the four others; the host and the time of the incident with the highest share. Lines of one host at most 30 s apart
-- are one incident; the latest 2000 count. Names of functions begin with f, those of threads with t; '' stands for all.
SELECT name, toUInt64(count()), toUInt64(countIf(share >= 0.01 AND share > most)), toFloat64(sum(share)),
    toFloat64(sum(usual)), tupleElement(max((share, host, at)), 2),
    tupleElement(max((share, host, at)), 3)
FROM
(
    SELECT host, at, row.1 AS name, row.6 / t4 AS share,
        greatest(greatest(row.2 / t0, row.3 / t1), greatest(row.4 / t2, row.5 / t3)) AS most,
        (row.2 / t0 + row.3 / t1 + row.4 / t2 + row.5 / t3) / 4 AS usual
    FROM
    (
        SELECT host, at, groupArray((name, n0, n1, n2, n3, n4)) AS rows, sumIf(n0, name = '') AS t0,
            sumIf(n1, name = '') AS t1, sumIf(n2, name = '') AS t2, sumIf(n3, name = '') AS t3, sumIf(n4, name = '') AS t4
        FROM
        (
            SELECT host, at, arrayJoin(arrayConcat([''], if(idle, emptyArrayString(), [concat('t', comm)]), functions)) AS name,
                sum(n0) AS n0, sum(n1) AS n1, sum(n2) AS n2, sum(n3) AS n3, sum(n4) AS n4
            FROM
            (
                SELECT host, at, stack, comm, idle, countIf(part = 0) AS n0, countIf(part = 1) AS n1, countIf(part = 2) AS n2,
                    countIf(part = 3) AS n3, countIf(part = 4) AS n4
                FROM
                (
                    SELECT host, at, stack, comm, idle, if(ts >= at - 5000000, 4, intDiv(ts + 30000000 - at, 5000000)) AS part
                    FROM
                    (
                        SELECT toString(host) AS host, minute, ts, stack, toString(comm) AS comm, tid = 0 AS idle
                        FROM samples FINAL
                        WHERE (host, minute) GLOBAL IN
                        (
                            SELECT host, toUInt32(arrayJoin(arrayDistinct([intDiv(at - 30000000, 60000000), intDiv(at - 1, 60000000)]))) AS minute
                            FROM
                            (
                                SELECT host, at
                                FROM
                                (
                                    SELECT toString(host) AS host, arrayJoin(arrayFilter((t, before) -> t - before > 30000000, times,
                                        arrayConcat([toUInt64(0)], arrayPopBack(times)))) AS at
                                    FROM
                                    (
                                        SELECT host, arraySort(groupArray(ts)) AS times
                                        FROM incidents FINAL
                                        WHERE ts >= {from:UInt64} AND ts < {to:UInt64} AND severity > 0
                                            AND ({kind:String} = ''
                                                OR position(concat(replaceAll(kind, '.', '_'), '_'),
                                                    concat(replaceAll({kind:String}, '.', '_'), '_')) = 1)
                                        GROUP BY host
                                    ) AS t
                                ) AS b
                                ORDER BY at DESC, host
                                LIMIT 2000
                            ) AS d
                        )
                    ) AS s
                    GLOBAL ALL INNER JOIN
                    (
                        SELECT host, at, toUInt32(arrayJoin(arrayDistinct([intDiv(at - 30000000, 60000000), intDiv(at - 1, 60000000)]))) AS minute
                        FROM
                        (
                            SELECT host, at
                            FROM
                            (
                                SELECT toString(host) AS host, arrayJoin(arrayFilter((t, before) -> t - before > 30000000, times,
                                    arrayConcat([toUInt64(0)], arrayPopBack(times)))) AS at
                                FROM
                                (
                                    SELECT host, arraySort(groupArray(ts)) AS times
                                    FROM incidents FINAL
                                    WHERE ts >= {from:UInt64} AND ts < {to:UInt64} AND severity > 0
                                        AND ({kind:String} = ''
                                            OR position(concat(replaceAll(kind, '.', '_'), '_'),
                                                concat(replaceAll({kind:String}, '.', '_'), '_')) = 1)
                                    GROUP BY host
                                ) AS t
                            ) AS b
                            ORDER BY at DESC, host
                            LIMIT 2000
                        ) AS d
                    ) AS e USING (host, minute)
                    WHERE ts >= at - 30000000 AND ts < at AND (ts < at - 10000000 OR ts >= at - 5000000)
                ) AS p
                GROUP BY host, at, stack, comm, idle
            ) AS c
            GLOBAL ANY LEFT JOIN
            (
                SELECT stack, arrayDistinct(arrayMap(f -> concat('f', f), arrayFilter(f -> f NOT IN ('do_idle', 'cpu_startup_entry', 'start_secondary', 'secondary_startup_64', 'secondary_startup_64_no_verify', 'cpuidle_enter',
                'cpuidle_enter_state', 'call_cpuidle', 'default_idle', 'default_idle_call', 'intel_idle', 'acpi_idle_do_entry',
                'acpi_idle_enter', 'native_safe_halt', 'pv_native_safe_halt', 'x86_64_start_kernel', 'start_kernel', 'rest_init'),
                    arrayMap((f, m) -> if(f = '', concat('[', m, ']'), f), any(frames), any(modules))))) AS functions
                FROM stacks
                WHERE stack GLOBAL IN (SELECT stack FROM samples WHERE (host, minute) GLOBAL IN
                (
                    SELECT host, toUInt32(arrayJoin(arrayDistinct([intDiv(at - 30000000, 60000000), intDiv(at - 1, 60000000)]))) AS minute
                    FROM
                    (
                        SELECT host, at
                        FROM
                        (
                            SELECT toString(host) AS host, arrayJoin(arrayFilter((t, before) -> t - before > 30000000, times,
                                arrayConcat([toUInt64(0)], arrayPopBack(times)))) AS at
                            FROM
                            (
                                SELECT host, arraySort(groupArray(ts)) AS times
                                FROM incidents FINAL
                                WHERE ts >= {from:UInt64} AND ts < {to:UInt64} AND severity > 0
                                    AND ({kind:String} = ''
                                        OR position(concat(replaceAll(kind, '.', '_'), '_'),
                                            concat(replaceAll({kind:String}, '.', '_'), '_')) = 1)
                                GROUP BY host
                            ) AS t
                        ) AS b
                        ORDER BY at DESC, host
                        LIMIT 2000
                    ) AS d
                ))
                GROUP BY stack
            ) AS k USING stack
            GROUP BY host, at, name
        ) AS g
        GROUP BY host, at
        HAVING t0 > 0 AND t1 > 0 AND t2 > 0 AND t3 > 0 AND t4 > 0
    ) AS i
    ARRAY JOIN rows AS row
) AS r
GROUP BY name
ORDER BY name
LIMIT 200000
FORMAT RowBinary
