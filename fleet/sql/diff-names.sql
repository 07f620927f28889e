/* SPDX-License-Identifier: GPL-2.0-only */
-- Threads and functions (with all that they call) of hosts with a label, against all other hosts, in the minutes of a
-- window. A share is of all samples of a host. For each name: the sum of the shares inside and outside, and the hosts
-- inside and outside whose share is above the mean of all hosts. Names of functions begin with f, those of threads
-- with t; '' stands for all samples, so its sums are the numbers of hosts.
SELECT name, inside_sum, outside_sum,
    toUInt64(arrayCount((s, i) -> i = 1 AND s * hosts > inside_sum + outside_sum, shares, insides)),
    toUInt64(arrayCount((s, i) -> i = 0 AND s * hosts > inside_sum + outside_sum, shares, insides))
FROM
(
    SELECT name, toFloat64(sumIf(share, inside = 1)) AS inside_sum, toFloat64(sumIf(share, inside = 0)) AS outside_sum,
        groupArray(share) AS shares, groupArray(inside) AS insides,
        (
            SELECT uniqExact(host)
            FROM minutes
            WHERE minute >= {first_minute:UInt32} AND minute <= {last_minute:UInt32}
        ) AS hosts
    FROM
    (
        SELECT name_of.1 AS name, name_of.2 / total AS share, inside
        FROM
        (
            SELECT groupArray((name, n)) AS names, sumIf(n, name = '') AS total,
                toUInt8(host GLOBAL IN
                (
                    SELECT host
                    FROM facts
                    WHERE name = concat('label/', {label:String}) AND value = {value:String}
                        AND day >= {first_day:UInt32} AND day <= {last_day:UInt32}
                )) AS inside
            FROM
            (
                SELECT host, arrayJoin(arrayConcat([''],
                    if(comm = 'swapper' OR stack = 0, emptyArrayString(), [concat('t', comm)]), functions)) AS name,
                    sum(samples) AS n
                FROM
                (
                    SELECT toString(host) AS host, toString(comm) AS comm, stack, sum(samples) AS samples
                    FROM minutes FINAL
                    WHERE minute >= {first_minute:UInt32} AND minute <= {last_minute:UInt32}
                    GROUP BY host, comm, stack
                ) AS m
                GLOBAL ANY LEFT JOIN
                (
                    SELECT stack, arrayDistinct(arrayMap(f -> concat('f', f), arrayFilter(f -> f NOT IN
                        ('do_idle', 'cpu_startup_entry', 'start_secondary', 'secondary_startup_64', 'secondary_startup_64_no_verify', 'cpuidle_enter',
                        'cpuidle_enter_state', 'call_cpuidle', 'default_idle', 'default_idle_call', 'intel_idle', 'acpi_idle_do_entry',
                        'acpi_idle_enter', 'native_safe_halt', 'pv_native_safe_halt', 'x86_64_start_kernel', 'start_kernel', 'rest_init'),
                        arrayMap((f, m) -> if(f = '', concat('[', m, ']'), f), any(frames), any(modules))))) AS functions
                    FROM stacks
                    WHERE stack GLOBAL IN
                    (
                        SELECT stack
                        FROM minutes
                        WHERE minute >= {first_minute:UInt32} AND minute <= {last_minute:UInt32}
                    )
                    GROUP BY stack
                ) AS k USING stack
                GROUP BY host, name
            ) AS g
            GROUP BY host
        ) AS i
        ARRAY JOIN names AS name_of
    ) AS s
    GROUP BY name
) AS n
ORDER BY name
LIMIT 100000
FORMAT RowBinary
