/* SPDX-License-Identifier: GPL-2.0-only */
-- The tables of a fleet, as one current ClickHouse server takes them. perftape fleet init adapts this file: to a
-- cluster (replicated tables NAME_local, and distributed tables NAME in front of them), and to servers that do not
-- know codecs and TTL. perftape fleet init --print shows the result.
--
-- Times are microseconds since 1970, days and minutes are whole ones since 1970. The engine removes rows with equal
-- sort keys, so a batch that arrives twice counts once; ask with FINAL. The comment before a table names the
-- expression that distributes its rows over the shards of a cluster.

-- shard: version
CREATE TABLE IF NOT EXISTS schema_version
(
    version UInt32,
    ts UInt64
)
ENGINE = ReplacingMergeTree
ORDER BY version
SETTINGS non_replicated_deduplication_window = 10000;

-- Single samples, of the windows that hosts ship in full. The order puts samples of one program side by side, and
-- large blocks have each stack once for many samples: both make the column `stack` smaller.
-- shard: cityHash64(host)
CREATE TABLE IF NOT EXISTS samples
(
    host LowCardinality(String) CODEC(ZSTD(1)),
    minute UInt32 CODEC(Delta(4), ZSTD(1)),
    comm LowCardinality(String) CODEC(ZSTD(1)),
    tid UInt32 CODEC(Delta(4), ZSTD(1)),
    ts UInt64 CODEC(Delta(8), ZSTD(3)),
    cpu UInt16 CODEC(ZSTD(1)),
    stack UInt64 CODEC(ZSTD(3)),
    pid UInt32 CODEC(Delta(4), ZSTD(1)),
    cgroup LowCardinality(String) CODEC(ZSTD(1)),
    period UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY intDiv(minute, 1440)
ORDER BY (host, minute, comm, tid, ts, cpu, stack)
TTL toDateTime(minute * 60) + toIntervalDay({samples_days:UInt32})
SETTINGS non_replicated_deduplication_window = 10000, min_compress_block_size = 262144, max_compress_block_size = 262144;

-- A window of which the host shipped every sample: a part of one segment. The facts are those of the segment.
-- shard: cityHash64(host)
CREATE TABLE IF NOT EXISTS windows
(
    host LowCardinality(String) CODEC(ZSTD(1)),
    begin UInt64 CODEC(Delta(8), ZSTD(1)),
    end UInt64 CODEC(Delta(8), ZSTD(1)),
    boot LowCardinality(String) CODEC(ZSTD(1)),
    sequence UInt64 CODEC(ZSTD(1)),
    samples UInt64 CODEC(ZSTD(1)),
    error UInt64 CODEC(ZSTD(1)),
    fact_names Array(LowCardinality(String)) CODEC(ZSTD(1)),
    fact_values Array(String) CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY intDiv(begin, 86400000000)
ORDER BY (host, begin, end, boot, sequence)
TTL toDateTime(intDiv(begin, 1000000)) + toIntervalDay({samples_days:UInt32})
SETTINGS non_replicated_deduplication_window = 10000;

-- Each stack once, from the leaf to the outermost caller. A stack of functions has no addresses and no offsets.
-- shard: stack
CREATE TABLE IF NOT EXISTS stacks
(
    stack UInt64 CODEC(ZSTD(1)),
    day UInt32 CODEC(ZSTD(1)),
    frames Array(LowCardinality(String)) CODEC(ZSTD(1)),
    modules Array(LowCardinality(String)) CODEC(ZSTD(1)),
    kinds Array(UInt8) CODEC(ZSTD(1)),
    addresses Array(UInt64) CODEC(ZSTD(1)),
    offsets Array(UInt64) CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(day)
ORDER BY stack
TTL toDateTime(day * 86400) + toIntervalDay({sums_days:UInt32})
SETTINGS non_replicated_deduplication_window = 10000;

-- The heaviest stacks of functions of each minute. Stack 0 is the sum of all others. `part` is the begin of the
-- segment: a minute that lies in two segments has rows of both, to be added up.
-- shard: cityHash64(host)
CREATE TABLE IF NOT EXISTS minutes
(
    host LowCardinality(String) CODEC(ZSTD(1)),
    minute UInt32 CODEC(Delta(4), ZSTD(1)),
    comm LowCardinality(String) CODEC(ZSTD(1)),
    stack UInt64 CODEC(ZSTD(1)),
    part UInt64 CODEC(Delta(8), ZSTD(1)),
    samples UInt64 CODEC(ZSTD(1)),
    period UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY intDiv(minute, 43200)
ORDER BY (host, minute, comm, stack, part)
TTL toDateTime(minute * 60) + toIntervalDay({sums_days:UInt32})
SETTINGS non_replicated_deduplication_window = 10000;

-- Figures of the host, per minute: over `readings` readings the lowest, the mean and the highest.
-- shard: cityHash64(host)
CREATE TABLE IF NOT EXISTS gauges
(
    host LowCardinality(String) CODEC(ZSTD(1)),
    minute UInt32 CODEC(Delta(4), ZSTD(1)),
    name LowCardinality(String) CODEC(ZSTD(1)),
    part UInt64 CODEC(Delta(8), ZSTD(1)),
    readings UInt32 CODEC(ZSTD(1)),
    low Float64 CODEC(ZSTD(1)),
    mean Float64 CODEC(ZSTD(1)),
    high Float64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY intDiv(minute, 43200)
ORDER BY (name, host, minute, part)
TTL toDateTime(minute * 60) + toIntervalDay({sums_days:UInt32})
SETTINGS non_replicated_deduplication_window = 10000;

-- The incidents of the hosts. `fields` has lines NAME=VALUE; `incident` is a hash that tells equal ones apart.
-- shard: cityHash64(host)
CREATE TABLE IF NOT EXISTS incidents
(
    host LowCardinality(String) CODEC(ZSTD(1)),
    ts UInt64 CODEC(Delta(8), ZSTD(1)),
    kind LowCardinality(String) CODEC(ZSTD(1)),
    incident UInt64 CODEC(ZSTD(1)),
    number UInt64 CODEC(ZSTD(1)),
    severity UInt32 CODEC(ZSTD(1)),
    stall UInt64 CODEC(ZSTD(1)),
    error UInt64 CODEC(ZSTD(1)),
    source LowCardinality(String) CODEC(ZSTD(1)),
    boot LowCardinality(String) CODEC(ZSTD(1)),
    text String CODEC(ZSTD(1)),
    fields String CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY intDiv(ts, 2592000000000)
ORDER BY (kind, ts, host, incident)
TTL toDateTime(intDiv(ts, 1000000)) + toIntervalDay({sums_days:UInt32})
SETTINGS non_replicated_deduplication_window = 10000;

-- What is not there: samples that the host lost, and times that its retention removed before they were shipped.
-- `what` is the kind in words; CPU 4294967295 stands for all CPUs.
-- shard: cityHash64(host)
CREATE TABLE IF NOT EXISTS losses
(
    host LowCardinality(String) CODEC(ZSTD(1)),
    begin UInt64 CODEC(Delta(8), ZSTD(1)),
    end UInt64 CODEC(Delta(8), ZSTD(1)),
    kind UInt32 CODEC(ZSTD(1)),
    cpu UInt32 CODEC(ZSTD(1)),
    what LowCardinality(String) CODEC(ZSTD(1)),
    count UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree
PARTITION BY intDiv(begin, 2592000000000)
ORDER BY (host, begin, end, kind, cpu, count)
TTL toDateTime(intDiv(begin, 1000000)) + toIntervalDay({sums_days:UInt32})
SETTINGS non_replicated_deduplication_window = 10000;

-- Labels and facts of the hosts, per day. The name of a label begins with "label/".
-- shard: cityHash64(host)
CREATE TABLE IF NOT EXISTS facts
(
    host LowCardinality(String) CODEC(ZSTD(1)),
    day UInt32 CODEC(ZSTD(1)),
    name LowCardinality(String) CODEC(ZSTD(1)),
    value String CODEC(ZSTD(1)),
    ts UInt64 CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree(ts)
PARTITION BY intDiv(day, 30)
ORDER BY (name, host, day)
TTL toDateTime(day * 86400) + toIntervalDay({sums_days:UInt32})
SETTINGS non_replicated_deduplication_window = 10000;
