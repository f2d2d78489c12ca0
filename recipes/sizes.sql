-- Which sizes are allocated how often?
-- says: The most common sizes are {_smallest} to {_largest} bytes: {_most|allocation}, {_pct} % of all.
-- says nothing: Nothing was allocated.
WITH classes AS MATERIALIZED (
  SELECT size_class(bytes) AS size, sum(stands_for) AS n, sum(bytes * stands_for) AS bytes, min(bytes) AS smallest, max(bytes) AS largest
  FROM allocations GROUP BY size_class(bytes)),
shares AS (SELECT *, max(n) OVER () AS most, round(100.0 * n / sum(n) OVER (), 1) AS pct FROM classes)
SELECT smallest, largest, n AS allocations, pct, bytes AS allocated_bytes, bar(n, most, 20) AS share,
       first_value(n) OVER first AS _most, first_value(pct) OVER first AS _pct,
       first_value(smallest) OVER first AS _smallest, first_value(largest) OVER first AS _largest
FROM shares
WINDOW first AS (ORDER BY n DESC, size)
ORDER BY size;
