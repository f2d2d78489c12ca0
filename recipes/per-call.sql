-- Which functions request most with each allocation?
-- calls = 10 (1..): of functions that allocated at least so often
-- top = 10 (1..): show so many
-- needs sites.allocations: how often it allocated
-- says: {function} requests {per_allocation_bytes} with each of its {allocations|allocation}, on average.
-- says nothing: No function allocated {:calls} times or more.
SELECT name AS function, CAST(round(sum(allocated_bytes) * 1.0 / sum(allocations)) AS INTEGER) AS per_allocation_bytes, sum(allocations) AS allocations, sum(allocated_bytes) AS allocated_bytes
FROM sites
GROUP BY name
HAVING sum(allocations) >= :calls
ORDER BY per_allocation_bytes DESC, function
LIMIT :top;
