-- Which sizes waste most, rounded up as the allocator does?
-- allocator = recorded (recorded|glibc|jemalloc|mimalloc|tcmalloc): whose size classes; recorded: those of the allocator that was used
-- at = @peak: the moment
-- top = 10 (1..): show so many
-- needs :allocator <> 'recorded' OR NOT EXISTS (SELECT 1 FROM processes WHERE peak_bytes > 0 AND ifnull(allocator(id), '') NOT IN ('glibc', 'jemalloc', 'mimalloc', 'tcmalloc')): the size classes of its allocator (--allocator glibc takes those of glibc)
-- says: Under {allocator}, blocks of {size|byte} waste most: {wasted_bytes} of {taken_bytes}, in {blocks|block} that take {takes|byte} each.
-- says nothing: No block that is live at {:at} takes more than was requested.
WITH sizes AS (
  SELECT iif(:allocator = 'recorded', allocator(process), :allocator) AS allocator, bytes AS size, sum(stands_for) AS blocks
  FROM live(:at) GROUP BY process, bytes)
SELECT size, block_room(size, allocator) AS takes, sum(blocks) AS blocks, sum((block_room(size, allocator) - size) * blocks) AS wasted_bytes,
       sum(block_room(size, allocator) * blocks) AS taken_bytes,
       round(100.0 * (block_room(size, allocator) - size) / block_room(size, allocator), 1) AS pct, allocator
FROM sizes
WHERE block_room(size, allocator) > size
GROUP BY allocator, size
ORDER BY wasted_bytes DESC, size
LIMIT :top;
