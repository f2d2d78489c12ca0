-- What was live at the peak, and how much of it outlived it?
-- at = @peak: the moment
-- top = 10 (1..): show so many
-- says: {function} held most: {held_bytes} in {blocks|block}, of which {never_freed_bytes} was never freed.
-- says nothing: No block was live at {:at}.
SELECT s.name AS function, sum(l.bytes) AS held_bytes, sum(l.blocks) AS blocks, sum(l.never_freed_bytes) AS never_freed_bytes,
       max(l.oldest_ns) AS oldest_ns
FROM (SELECT stack, sum(bytes * stands_for) AS bytes, sum(stands_for) AS blocks,
             sum(iif(freed_ns IS NULL, bytes * stands_for, 0)) AS never_freed_bytes, max(age_ns) AS oldest_ns
      FROM live(:at) GROUP BY stack) AS l
JOIN sites AS s ON s.stack = l.stack
GROUP BY s.name
ORDER BY held_bytes DESC, s.name
LIMIT :top;
