-- SPDX-License-Identifier: GPL-2.0-only
-- A fleet with a planted cause, in the tables of fleet init: 60 hosts in three zones for a week from 2026-11-10 on. In
-- zone az3, two of three hosts lose their network four times. There, a unit restarts without an end, and kubelet
-- takes the kernel's time in the 5 s before each reset.

CREATE TABLE hosts ENGINE = Memory AS
SELECT number AS i, concat('web-', leftPad(toString(number), 2, '0')) AS host,
    concat('az', toString(1 + intDiv(number, 20))) AS zone, 20767 + 0 AS first_day
FROM numbers(60);

INSERT INTO facts (host, day, name, value, ts)
SELECT host, first_day + day, fact.1, fact.2, (first_day + day) * 86400000000
FROM (SELECT *, arrayJoin(range(7)) AS day FROM hosts) AS d
ARRAY JOIN arrayFilter(f -> f.2 != '',
[
    ('label/zone', zone),
    ('label/instance_type', if(i % 2 = 0, 'p4d.24xlarge', 'p5.48xlarge')),
    ('label/kernel', if(i % 7 = 0, '6.1.0-30', '6.1.0-32')),
    ('cgroup_version', if(zone = 'az3', '1', '2')),
    ('driver/ena', if(i % 5 = 0, '2.8.0g', '2.10.0g')),
    ('sysctl/vm.swappiness', '60'),
    ('unit/ecs-agent.service', if(zone = 'az3', 'enabled', '')),
    ('restarts/ecs-agent.service', if(zone = 'az3', toString(200 + i), ''))
]) AS fact;

-- Two lines of one incident, a second apart; az1 has a single incident.
CREATE TABLE resets ENGINE = Memory AS
SELECT host, first_day * 86400000000 + toUInt64(36000 + 86400 * turn + 600 * i) * 1000000 AS ts
FROM hosts ARRAY JOIN range(4) AS turn
WHERE (zone = 'az3' AND i % 3 != 0) OR (i = 5 AND turn = 0);

INSERT INTO incidents (host, ts, kind, incident, number, severity, stall, error, source, boot, text, fields)
SELECT host, ts + 1000000 * line, 'ena.reset', cityHash64(host, ts, line), 1, 4, ts - 5000000, 10, 'kmsg', 'b', 'reset', ''
FROM resets ARRAY JOIN [0, 1] AS line;

INSERT INTO stacks (stack, day, frames, modules, kinds, addresses, offsets)
SELECT stack, 20767, frames, arrayMap(f -> '[kernel]', frames), arrayMap(f -> toUInt8(1), frames),
    arrayMap(f -> toUInt64(0), frames), arrayMap(f -> toUInt64(0), frames)
FROM
(
    SELECT named.1 AS stack, named.2 AS frames
    FROM (SELECT arrayJoin([
        (toUInt64(1), ['cpuidle_enter_state', 'do_idle', 'cpu_startup_entry']),
        (toUInt64(2), ['mem_cgroup_nr_lru_pages', 'memory_stat_show', 'vfs_read', 'do_syscall_64']),
        (toUInt64(3), ['do_user_loop', 'main']),
        (toUInt64(4), ['tcp_sendmsg', 'sock_write_iter', 'do_syscall_64', 'main'])
    ]) AS named) AS n
) AS s;

-- Samples of 4 CPUs, 20 per second and CPU, from 30 s before a reset to 5 s after it. CPU 3 is full of kubelet in the
-- last 5 s.
INSERT INTO samples (host, minute, tid, ts, cpu, stack, pid, comm, cgroup, period)
SELECT host, intDiv(at, 60000000), tid, at, cpu, stack, tid, comm, '/', 50000000
FROM
(
    SELECT host, at, cpu, sick, cityHash64(host, at, cpu) % 10 AS dice,
        multiIf(sick, 42, dice < 6, 0, dice < 9, 100, 101) AS tid,
        multiIf(sick, 2, dice < 6, 1, dice < 9, 3, 4) AS stack,
        multiIf(sick, 'kubelet', dice < 6, 'swapper', dice < 9, 'python', 'nginx') AS comm
    FROM
    (
        SELECT host, cpu, ts - 30000000 + step * 50000 + cpu * 7 AS at, cpu = 3 AND step >= 500 AND step < 600 AS sick
        FROM (SELECT *, arrayJoin(range(4)) AS cpu FROM resets) AS r ARRAY JOIN range(700) AS step
    ) AS t
) AS s;

INSERT INTO windows (host, begin, end, boot, sequence, samples, error, fact_names, fact_values)
SELECT host, ts - 30000000, ts + 5000000, 'b', 1, 2800, 10, [], [] FROM resets;

-- Sums of the hours from 10 to 16 of the first day: kubelet is heavy in az3.
INSERT INTO minutes (host, minute, comm, stack, part, samples, period)
SELECT host, first_day * 1440 + 600 + minute, row.1, row.2, 1, row.3, row.3 * 50000000
FROM (SELECT *, arrayJoin(range(360)) AS minute FROM hosts) AS m
ARRAY JOIN
[
    ('swapper', toUInt64(1), toUInt64(2900)),
    ('kubelet', toUInt64(2), if(zone = 'az3', 300 + cityHash64(host, minute) % 40, 10 + cityHash64(host, minute) % 20)),
    ('python', toUInt64(3), 1400 + cityHash64(host, minute, 3) % 100),
    ('nginx', toUInt64(4), 480 + cityHash64(host, minute, 4) % 40),
    ('', toUInt64(0), toUInt64(200))
] AS row;

-- The number of memory cgroups on the first day: it grows in az3.
INSERT INTO gauges (host, minute, name, part, readings, low, mean, high)
SELECT host, first_day * 1440 + 600 + minute, 'memory_cgroups', 1, 60, count, count, count
FROM (SELECT *, arrayJoin(range(360)) AS minute, if(zone = 'az3', 1000 + minute * 100, 240) AS count FROM hosts) AS m;

INSERT INTO losses (host, begin, end, kind, cpu, what, count)
SELECT host, first_day * 86400000000, first_day * 86400000000 + 60000000, 1000, 4294967295, 'removed before it was shipped', 1
FROM hosts WHERE i = 7;
