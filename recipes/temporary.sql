-- Which functions allocate blocks only to free them at once?
-- top = 10 (1..): show so many
-- needs sites.temporary: which allocations are temporary
-- says: {function} makes most of them: {temporary} of its {allocations|allocation} ({pct} %) are temporary.
-- says nothing: No allocation is temporary.
SELECT name AS function, sum(temporary) AS temporary, sum(allocations) AS allocations,
       iif(sum(temporary) = sum(allocations), 100.0, min(99.9, round(100.0 * sum(temporary) / sum(allocations), 1))) AS pct, CAST(round(sum(allocated_bytes) * 1.0 / sum(allocations)) AS INTEGER) AS average_bytes
FROM sites
WHERE allocations > 0
GROUP BY name
HAVING sum(temporary) > 0
ORDER BY sum(temporary) DESC, function
LIMIT :top;
