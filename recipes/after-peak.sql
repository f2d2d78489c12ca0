-- What was freed right after the peak?
-- at = @peak: the moment
-- within = 1s: freed within this time after it
-- top = 10 (1..): show so many
-- needs (SELECT value FROM trace WHERE key = 'has_times'): when blocks were freed
-- says: Most of it was allocated in {function}: {freed_bytes} in {blocks|block}, freed within {:within} after {:at}.
-- says nothing: No block that is live at {:at} was freed within {:within} after it.
SELECT s.name AS function, sum(l.bytes) AS freed_bytes, sum(l.blocks) AS blocks, min(l.first_ns) - at(:at) AS first_after_ns,
       max(l.last_ns) - at(:at) AS last_after_ns
FROM (SELECT stack, sum(bytes * stands_for) AS bytes, sum(stands_for) AS blocks, min(freed_ns) AS first_ns, max(freed_ns) AS last_ns
      FROM live(:at) WHERE freed_ns <= at(:at) + at(:within) GROUP BY stack) AS l
JOIN sites AS s ON s.stack = l.stack
GROUP BY s.name
ORDER BY freed_bytes DESC, s.name
LIMIT :top;
