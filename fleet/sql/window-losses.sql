/* SPDX-License-Identifier: GPL-2.0-only */
-- What a host noted as lost in a window. Kinds from 1000 on are of whole segments.
SELECT begin, end, kind, cpu, count
FROM losses FINAL
WHERE host = {host:String} AND begin < {to:UInt64} AND end >= {from:UInt64} AND kind < 1000
ORDER BY begin, end, cpu, kind
FORMAT RowBinary
