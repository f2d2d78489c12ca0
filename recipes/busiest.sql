-- In which second was the program busiest allocating, and with what?
-- stretch = 1s (1ns..): how long a stretch of time is
-- top = 10 (1..): show so many
-- needs (SELECT value FROM trace WHERE key = 'has_times'): when blocks were allocated
-- says: {function} made {allocations|allocation} of {_all} in the busiest stretch of {:stretch}, which begins at {_from_ns}.
-- says nothing: Nothing was allocated.
WITH busiest AS MATERIALIZED (
  SELECT time_ns / at(:stretch) AS i, sum(stands_for) AS n FROM allocations GROUP BY time_ns / at(:stretch) ORDER BY n DESC, i LIMIT 1),
made AS MATERIALIZED (
  SELECT a.stack, sum(a.stands_for) AS n, sum(a.bytes * a.stands_for) AS bytes
  FROM busiest AS b JOIN allocations AS a ON a.time_ns >= b.i * at(:stretch) AND a.time_ns < (b.i + 1) * at(:stretch)
  GROUP BY a.stack)
SELECT s.name AS function, sum(m.n) AS allocations, sum(m.bytes) AS allocated_bytes, b.n AS _all, b.i * at(:stretch) AS _from_ns
FROM busiest AS b, made AS m JOIN sites AS s ON s.stack = m.stack
GROUP BY s.name
ORDER BY sum(m.n) DESC, s.name
LIMIT :top;
