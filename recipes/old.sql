-- Which functions hold blocks that are older than a minute?
-- age = 1m: blocks at least this old
-- at = @end: the moment
-- top = 10 (1..): show so many
-- needs (SELECT value FROM trace WHERE key = 'has_times'): how old blocks are
-- says: {function} holds most: {held_bytes} in {blocks|block} older than {:age}, the oldest {oldest_ns}.
-- says nothing: No block that is live at {:at} is older than {:age}.
SELECT s.name AS function, sum(l.bytes) AS held_bytes, sum(l.blocks) AS blocks, max(l.oldest_ns) AS oldest_ns
FROM (SELECT stack, sum(bytes * stands_for) AS bytes, sum(stands_for) AS blocks, max(age_ns) AS oldest_ns
      FROM live(:at) WHERE age_ns >= at(:age) GROUP BY stack) AS l
JOIN sites AS s ON s.stack = l.stack
GROUP BY s.name
ORDER BY held_bytes DESC, s.name
LIMIT :top;
