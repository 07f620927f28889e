/* SPDX-License-Identifier: GPL-2.0-only */
-- How long each host was seen in a window: it counts on the days on which it shipped its facts.
SELECT host, toUInt64(sum(least({to:UInt64}, (day + 1) * 86400000000) - greatest({from:UInt64}, day * 86400000000)))
FROM facts FINAL
WHERE name = 'cgroup_version' AND day >= {first_day:UInt32} AND day <= {last_day:UInt32}
GROUP BY host
ORDER BY host
FORMAT RowBinary
