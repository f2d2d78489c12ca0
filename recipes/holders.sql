-- Who keeps most memory from being freed? Needs a graph: silt run --leaks, or silt snapshot --graph.
-- top = 10 (1..): show so many
-- says: {name} holds most: letting it go would free {retained_bytes} in {retained_blocks|block}.
-- says nothing: Nothing holds memory in the newest graph.
SELECT name, kind, retained_bytes, retained_blocks, own_bytes
FROM holders
WHERE parent IS NULL
ORDER BY retained_bytes DESC, name
LIMIT :top;
