-- Which single blocks were the biggest?
-- top = 10 (1..): show so many
-- says: The biggest block is {block_bytes}, allocated in {function} at {at_ns}.
-- says nothing: Nothing was allocated.
SELECT b.bytes AS block_bytes, s.name AS function, ifnull(nullif(t.name, ''), 'thread ' || nullif(t.tid, 0)) AS thread, b.time_ns AS at_ns, b.lifetime_ns, b.freed_ns IS NULL AS never_freed
FROM (SELECT * FROM allocations ORDER BY bytes DESC, time_ns LIMIT :top) AS b
JOIN sites AS s ON s.stack = b.stack
LEFT JOIN threads AS t ON t.id = b.thread
ORDER BY b.bytes DESC, b.time_ns;
