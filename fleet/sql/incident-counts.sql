/* SPDX-License-Identifier: GPL-2.0-only */
-- The incidents of each host in a window, by the family of their kinds, such as ena. Lines of one family at most 30 s
-- apart are one incident. `kind` is a kind or the words with which kinds begin; '' stands for all.
SELECT host, family,
    toUInt64(1 + arrayCount((at, before) -> at - before > 30000000, arrayPopFront(times), arrayPopBack(times))),
    toUInt64(length(times)), times[length(times)]
FROM
(
    SELECT host, splitByChar('.', toString(kind))[1] AS family, arraySort(groupArray(ts)) AS times
    FROM incidents FINAL
    WHERE ts >= {from:UInt64} AND ts < {to:UInt64} AND severity > 0
        AND ({kind:String} = ''
            OR position(concat(replaceAll(kind, '.', '_'), '_'), concat(replaceAll({kind:String}, '.', '_'), '_')) = 1)
    GROUP BY host, family
) AS i
ORDER BY host, family
FORMAT RowBinary
