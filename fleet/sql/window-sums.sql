/* SPDX-License-Identifier: GPL-2.0-only */
-- How many samples of a host are in the sums of the minutes of a window.
SELECT sum(samples)
FROM minutes FINAL
WHERE host = {host:String} AND minute >= {first_minute:UInt32} AND minute <= {last_minute:UInt32}
FORMAT RowBinary
