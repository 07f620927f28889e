/* SPDX-License-Identifier: GPL-2.0-only */
-- The hosts of which a server holds any sample of a window, and for how many seconds in all.
SELECT toUInt64(uniqExact(host)), toUInt64(intDiv(sum(least(end, {to:UInt64}) - greatest(begin, {from:UInt64})), 1000000))
FROM windows FINAL
WHERE begin < {to:UInt64} AND end > {from:UInt64}
FORMAT RowBinary
