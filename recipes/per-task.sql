-- How much memory does each kind of task hold? A task is the outermost function, from a function of --poll on, that is not the runtime's.
-- poll = : a regular expression for functions that drive tasks, such as 'Future>::poll' or '^poll_'
-- runtime = ^<?&?(tokio|futures|async_|smol|core|std|alloc): one for functions of the runtime
-- at = @peak: the moment
-- top = 10 (1..): show so many
-- says: {task} holds most: {held_bytes} in {blocks|block}, {block_bytes} a block.
-- says nothing: No block that is live at {:at} was allocated below a function like {:poll}.
WITH held AS MATERIALIZED (
  SELECT stack, sum(bytes * stands_for) AS bytes, sum(stands_for) AS blocks FROM live(:at) GROUP BY stack),
steps AS MATERIALIZED (
  SELECT c.stack, c.level * 1000 + c.depth AS outwards, c.function,
         c.function REGEXP :poll AS is_poll, c.function REGEXP :runtime AS is_runtime
  FROM held JOIN call_paths AS c ON c.stack = held.stack),
polls AS MATERIALIZED (SELECT stack, max(outwards) AS outwards FROM steps WHERE is_poll GROUP BY stack),
tasks AS MATERIALIZED (
  SELECT steps.stack, max(steps.outwards), steps.function
  FROM polls JOIN steps ON steps.stack = polls.stack AND steps.outwards <= polls.outwards
  WHERE NOT steps.is_runtime GROUP BY steps.stack)
SELECT tasks.function AS task, sum(held.bytes) AS held_bytes, sum(held.blocks) AS blocks,
       CAST(round(sum(held.bytes) * 1.0 / sum(held.blocks)) AS INTEGER) AS block_bytes
FROM tasks JOIN held ON held.stack = tasks.stack
GROUP BY tasks.function
ORDER BY held_bytes DESC, task
LIMIT :top;
