-- Which functions allocate more, or less, than in another trace (--other)?
-- top = 10 (1..): show so many
-- needs sites.allocations: how often it allocated
-- says: {function} changed most: from {before_bytes} to {allocated_bytes} allocated.
-- says nothing: Every function allocates as much as in the other trace.
WITH now AS (SELECT name AS function, sum(allocated_bytes) AS bytes, sum(allocations) AS n, sum(peak_bytes) AS peak FROM sites GROUP BY name),
     before AS (SELECT name AS function, sum(allocated_bytes) AS bytes, sum(allocations) AS n, sum(peak_bytes) AS peak FROM other.sites GROUP BY name),
     pairs AS (SELECT now.function, now.bytes, now.n, now.peak, ifnull(before.bytes, 0) AS old_bytes, ifnull(before.n, 0) AS old_n,
                      ifnull(before.peak, 0) AS old_peak
               FROM now LEFT JOIN before ON before.function = now.function
               UNION ALL
               SELECT function, 0, 0, 0, bytes, n, peak FROM before WHERE function NOT IN (SELECT function FROM now))
SELECT function, old_bytes AS before_bytes, bytes AS allocated_bytes, n - old_n AS more_allocations, peak - old_peak AS more_at_peak_bytes
FROM pairs
WHERE bytes <> old_bytes OR n <> old_n
ORDER BY abs(bytes - old_bytes) DESC, function
LIMIT :top;
