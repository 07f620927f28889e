/* SPDX-License-Identifier: GPL-2.0-only */
-- How many hosts have a fact, with and without incidents, and with and without a label. Labels are facts, too. The last
-- value in a window counts; numbers of restarts count by their size. Each host has the fact cgroup_version, so its
-- counts are those of all hosts.
SELECT name, shown, toUInt64(struck), toUInt64(inside), count()
FROM
(
    SELECT host, name, argMax(value, day) AS last,
        if(name LIKE 'restarts/%',
            multiIf(length(last) > 2, '100 or more', length(last) > 1, '10 to 99', last = '0', '0', '1 to 9'),
            last) AS shown,
        host GLOBAL IN
        (
            SELECT host
            FROM incidents
            WHERE ts >= {from:UInt64} AND ts < {to:UInt64} AND severity > 0
                AND ({kind:String} = ''
                    OR position(concat(replaceAll(kind, '.', '_'), '_'),
                        concat(replaceAll({kind:String}, '.', '_'), '_')) = 1)
        ) AS struck,
        host GLOBAL IN
        (
            SELECT host
            FROM facts
            WHERE name = concat('label/', {label:String}) AND value = {value:String}
                AND day >= {first_day:UInt32} AND day <= {last_day:UInt32}
        ) AS inside
    FROM facts FINAL
    WHERE day >= {first_day:UInt32} AND day <= {last_day:UInt32}
    GROUP BY host, name
) AS f
GROUP BY name, shown, struck, inside
ORDER BY name, shown, struck, inside
LIMIT 200000
FORMAT RowBinary
