-- Which functions hold many blocks of one size: a candidate for a pool?
-- at = @peak: the moment
-- blocks = 10 (1..): at least so many
-- top = 10 (1..): show so many
-- says: {function} holds {blocks|block} of {size|byte} each: {held_bytes}.
-- says nothing: No function holds {:blocks} blocks of one size at {:at}.
SELECT s.name AS function, l.size, sum(l.blocks) AS blocks, sum(l.bytes) AS held_bytes
FROM (SELECT stack, bytes AS size, sum(stands_for) AS blocks, sum(bytes * stands_for) AS bytes FROM live(:at) GROUP BY stack, bytes) AS l
JOIN sites AS s ON s.stack = l.stack
GROUP BY s.name, l.size
HAVING sum(l.blocks) >= :blocks
ORDER BY sum(l.blocks) DESC, held_bytes DESC, s.name
LIMIT :top;
