-- Which functions allocate most and keep nothing of it?
-- top = 10 (1..): show so many
-- needs sites.freed_bytes: what was freed
-- says: {function} churns most: {freed_bytes} of {allocated_bytes} allocated were freed again[, in {allocations|allocation}].
-- says nothing: Nothing was freed.
SELECT name AS function, sum(allocations) AS allocations, sum(allocated_bytes) AS allocated_bytes, sum(freed_bytes) AS freed_bytes,
       sum(end_bytes) AS held_bytes
FROM sites
GROUP BY name
HAVING sum(freed_bytes) > 0
ORDER BY sum(freed_bytes) DESC, function
LIMIT :top;
