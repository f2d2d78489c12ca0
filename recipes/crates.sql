-- Which crates hold the memory, and which allocate most?
-- top = 10 (1..): show so many
-- says: {crate} holds most at the peak: {peak_bytes}.
-- says nothing: Nothing was allocated.
SELECT ifnull(nullif(crate, ''), '(none)') AS crate, sum(peak_bytes) AS peak_bytes, sum(end_bytes) AS held_bytes, sum(allocations) AS allocations,
       sum(allocated_bytes) AS allocated_bytes
FROM sites
GROUP BY ifnull(nullif(crate, ''), '(none)')
ORDER BY sum(peak_bytes) DESC, crate
LIMIT :top;
