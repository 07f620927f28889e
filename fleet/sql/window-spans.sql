/* SPDX-License-Identifier: GPL-2.0-only */
-- The times of which a host shipped every sample, in a window. Times in microseconds.
SELECT begin, end, boot, sequence, error, fact_names, fact_values
FROM windows FINAL
WHERE host = {host:String} AND begin < {to:UInt64} AND end > {from:UInt64}
ORDER BY boot, sequence, begin, end
FORMAT RowBinary
