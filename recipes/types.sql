-- Which types of blocks hold most, themselves and by what they keep? Needs a graph: silt run --leaks, or silt snapshot --graph.
-- top = 10 (1..): show so many
-- says: {type} holds most itself: {own_bytes} in {blocks|block}.
-- says nothing: The newest graph has no blocks.
WITH names AS MATERIALIZED (SELECT stack, name FROM sites),
typed AS (SELECT ifnull(nullif(n.type, ''), ifnull(names.name, '(no stack)')) AS type, n.bytes, n.retained_bytes
          FROM nodes AS n LEFT JOIN names ON names.stack = n.stack)
SELECT type, count(*) AS blocks, sum(bytes) AS own_bytes, max(retained_bytes) AS most_retained_bytes
FROM typed
GROUP BY type
ORDER BY own_bytes DESC, type
LIMIT :top;
