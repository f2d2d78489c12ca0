-- What changed from each mark to the next?
-- says: Most changed from {_from} to {_to}: live bytes by {_grown_bytes}[, after {_allocations|allocation}].
-- says nothing: Nothing was allocated.
WITH points AS (
  SELECT 0 AS time_ns, '(start)' AS name UNION ALL SELECT time_ns, name FROM marks UNION ALL SELECT at('@end'), '(end)'),
stretches AS MATERIALIZED (
  SELECT time_ns AS begin_ns, name, lead(time_ns) OVER (ORDER BY time_ns) AS end_ns, lead(name) OVER (ORDER BY time_ns) AS next FROM points),
changes AS MATERIALIZED (
  SELECT s.begin_ns, s.name, s.next, s.end_ns - s.begin_ns AS took, sum(w.growth_bytes) AS grown, sum(w.growth_blocks) AS blocks,
         sum(w.allocations) AS n, sum(w.allocated_bytes) AS bytes
  FROM stretches AS s, window(s.begin_ns, s.end_ns) AS w
  WHERE s.end_ns > s.begin_ns
  GROUP BY s.begin_ns, s.name)
SELECT name AS "from", next AS "to", iif((SELECT value FROM trace WHERE key = 'has_times'), took, NULL) AS took_ns, grown AS grown_bytes, blocks AS grown_blocks, n AS allocations,
       bytes AS allocated_bytes, first_value(name) OVER first AS _from, first_value(next) OVER first AS _to,
       first_value(grown) OVER first AS _grown_bytes, first_value(n) OVER first AS _allocations
FROM changes
WINDOW first AS (ORDER BY abs(grown) DESC, begin_ns)
ORDER BY begin_ns;
