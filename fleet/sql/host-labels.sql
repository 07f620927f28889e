/* SPDX-License-Identifier: GPL-2.0-only */
-- The labels of each host in a window, as the host last stated them.
SELECT host, substring(name, 7) AS label, argMax(value, day)
FROM facts FINAL
WHERE name LIKE 'label/%' AND day >= {first_day:UInt32} AND day <= {last_day:UInt32}
GROUP BY host, label
ORDER BY host, label
FORMAT RowBinary
