-- How much does one request allocate, between two marks?
-- from = @start: where the requests begin
-- to = @end: where they end
-- requests = (1..): how many there were
-- top = 10 (1..): show so many
-- needs sites.allocations: how often it allocated
-- says: {function} allocates most often: {times_per_request|time} per request, {size_per_request_bytes} in all.
-- says nothing: Nothing was allocated from {:from} to {:to}.
SELECT name AS function, round(sum(allocations) * 1.0 / :requests, 2) AS times_per_request,
       CAST(round(sum(allocated_bytes) * 1.0 / :requests) AS INTEGER) AS size_per_request_bytes,
       round(sum(temporary) * 1.0 / :requests, 2) AS temporary,
       sum(growth_blocks) AS kept_blocks, sum(growth_bytes) AS kept_bytes
FROM window(:from, :to)
WHERE allocations > 0
GROUP BY name
ORDER BY sum(allocations) DESC, function
LIMIT :top;
