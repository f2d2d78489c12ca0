-- Which blocks does nothing point to any more? Needs a graph: silt run --leaks, or silt snapshot --graph.
-- top = 10 (1..): show so many
-- says: {function} lost most: {lost_bytes} in {blocks|block}.
-- says nothing: The newest graph has no block that nothing points to.
WITH names AS MATERIALIZED (SELECT stack, name FROM sites)
SELECT ifnull(names.name, '(no stack)') AS function, count(*) AS blocks, sum(n.bytes) AS lost_bytes, sum(n.class = 'definite') AS definite,
       sum(n.class = 'indirect') AS indirect
FROM nodes AS n LEFT JOIN names ON names.stack = n.stack
WHERE n.class IN ('definite', 'indirect')
GROUP BY names.name
ORDER BY lost_bytes DESC, names.name
LIMIT :top;
