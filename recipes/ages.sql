-- How long do blocks live?
-- needs (SELECT value FROM trace WHERE key = 'has_times'): how long blocks lived
-- says: The most common lifetimes are {_shortest_ns} to {_longest_ns}: {_most|block}, {_pct} % of those that were freed.
-- says nothing: No block was freed.
WITH classes AS MATERIALIZED (
  SELECT lifetime_class(lifetime_ns) AS age, sum(stands_for) AS n, sum(bytes * stands_for) AS bytes,
         min(lifetime_ns) AS shortest, max(lifetime_ns) AS longest
  FROM allocations WHERE freed_ns IS NOT NULL GROUP BY lifetime_class(lifetime_ns)),
shares AS (SELECT *, max(n) OVER () AS most, round(100.0 * n / sum(n) OVER (), 1) AS pct FROM classes)
SELECT shortest AS shortest_ns, longest AS longest_ns, n AS blocks, pct, bytes AS freed_bytes, bar(n, most, 20) AS share,
       first_value(n) OVER first AS _most, first_value(pct) OVER first AS _pct,
       first_value(shortest) OVER first AS _shortest_ns, first_value(longest) OVER first AS _longest_ns
FROM shares
WINDOW first AS (ORDER BY n DESC, age)
ORDER BY age;
