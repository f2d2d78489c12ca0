-- Which sizes waste most, rounded up as glibc or jemalloc does?
-- allocator = glibc (glibc|jemalloc): whose size classes
-- at = @peak: the moment
-- top = 10 (1..): show so many
-- says: Blocks of {size|byte} waste most: {wasted_bytes} of {taken_bytes}, in {blocks|block} that take {takes|byte} each.
-- says nothing: No block is live at {:at}.
WITH sizes AS (
  SELECT bytes AS size, sum(stands_for) AS blocks,
         CASE WHEN bytes <= 16 THEN 16 ELSE 1 << CAST(floor(log2(bytes - 1)) - 2 AS INTEGER) END AS step
  FROM live(:at) GROUP BY bytes),
taken AS (
  SELECT size, blocks,
         CASE WHEN :allocator = 'jemalloc' THEN
                CASE WHEN size <= 8 THEN 8 WHEN size <= 128 THEN (size + 15) / 16 * 16
                     ELSE (size + step - 1) / step * step END
              WHEN size >= 131072 THEN (size + 16 + 4095) / 4096 * 4096
              ELSE max(32, (size + 8 + 15) / 16 * 16) END AS takes
  FROM sizes)
SELECT size, takes, blocks, (takes - size) * blocks AS wasted_bytes, takes * blocks AS taken_bytes,
       round(100.0 * (takes - size) / takes, 1) AS pct
FROM taken
ORDER BY wasted_bytes DESC, size
LIMIT :top;
