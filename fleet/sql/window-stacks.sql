/* SPDX-License-Identifier: GPL-2.0-only */
-- The stacks of the samples of a host in a window.
SELECT stack, any(frames), any(modules), any(kinds), any(addresses), any(offsets)
FROM stacks
WHERE stack GLOBAL IN
(
    SELECT stack
    FROM samples
    WHERE host = {host:String}
        AND minute >= {first_minute:UInt32} AND minute <= {last_minute:UInt32}
        AND ts >= {from:UInt64} AND ts < {to:UInt64}
)
GROUP BY stack
FORMAT RowBinary
