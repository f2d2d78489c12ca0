-- Which functions allocate most with each call?
-- calls = 10 (1..): of functions that allocated at least so often
-- top = 10 (1..): show so many
-- needs sites.allocations: how often it allocated
-- says: {function} allocates {per_call_bytes} with each call, on average, {allocations|time}.
-- says nothing: No function allocated {:calls} times or more.
SELECT name AS function, CAST(round(sum(allocated_bytes) * 1.0 / sum(allocations)) AS INTEGER) AS per_call_bytes, sum(allocations) AS allocations, sum(allocated_bytes) AS allocated_bytes
FROM sites
GROUP BY name
HAVING sum(allocations) >= :calls
ORDER BY per_call_bytes DESC, function
LIMIT :top;
