-- Which programs and libraries allocate?
-- top = 10 (1..): show so many
-- says: {module} holds most at the peak: {peak_bytes}.
-- says nothing: Nothing was allocated.
SELECT ifnull(nullif(module, ''), '(unknown)') AS module, sum(peak_bytes) AS peak_bytes, sum(end_bytes) AS held_bytes, sum(allocations) AS allocations,
       sum(allocated_bytes) AS allocated_bytes
FROM sites
GROUP BY ifnull(nullif(module, ''), '(unknown)')
ORDER BY sum(peak_bytes) DESC, module
LIMIT :top;
