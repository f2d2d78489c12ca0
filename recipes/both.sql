-- Which functions take CPU time, and how much do they and what they call allocate in it?
-- from = @start: where the window begins
-- to = @end: where it ends
-- top = 10 (1..): show so many
-- says: {_pct} % of the CPU time passed through {function}, which made {allocations|allocation}, {per_cpu_ms} for each millisecond of it.
-- says nothing: No thread was seen on a CPU in this window.
WITH spent AS MATERIALIZED (
  SELECT stack, sum(weight_ns) AS ns FROM ticks
  WHERE state = 'cpu' AND time_ns >= at(:from) AND time_ns < at(:to) GROUP BY stack),
files AS MATERIALIZED (SELECT path, max(ifnull(nullif(build_id, ''), path)) AS file FROM modules GROUP BY path),
hot AS MATERIALIZED (
  SELECT function, file, sum(ns) AS ns
  FROM (SELECT DISTINCT p.stack, p.function, f.file, s.ns
        FROM spent AS s JOIN call_paths AS p ON p.stack = s.stack JOIN files AS f ON f.path = p.module WHERE p.function <> '')
  GROUP BY function, file),
made AS MATERIALIZED (
  SELECT function, file, sum(n) AS n, sum(bytes) AS bytes
  FROM (SELECT DISTINCT p.stack, p.function, f.file, w.allocations AS n, w.allocated_bytes AS bytes
        FROM window(at(:from), at(:to)) AS w JOIN call_paths AS p ON p.stack = w.stack JOIN files AS f ON f.path = p.module)
  GROUP BY function, file)
SELECT h.function, h.ns AS cpu_ns, ifnull(m.n, 0) AS allocations, ifnull(m.bytes, 0) AS allocated_bytes,
       round(ifnull(m.n, 0) * 1000000.0 / h.ns, 1) AS per_cpu_ms, round(100.0 * h.ns / (SELECT sum(ns) FROM spent), 1) AS _pct
FROM hot AS h LEFT JOIN made AS m ON m.function = h.function AND m.file = h.file
ORDER BY ifnull(m.n, 0) > 0 DESC, h.ns > 0.9 * (SELECT sum(ns) FROM spent), h.ns DESC, h.function
LIMIT :top;
