-- What is the resident memory of the largest process made of? What it shares with others counts in full.
-- says: {_name} (pid {_pid}) had most resident after {_at_ns}: {_whole_bytes}; the largest part, {part}, has {resident_bytes} of it.
-- says nothing: The trace has no bill of resident memory.
WITH whole AS (
  SELECT process, time_ns, sum(bytes) AS bytes FROM memory WHERE source = 'bill' GROUP BY process, time_ns
  ORDER BY bytes DESC, time_ns LIMIT 1)
SELECT m.part, m.bytes AS resident_bytes, p.name AS _name, CAST(p.pid AS TEXT) AS _pid, w.time_ns AS _at_ns, w.bytes AS _whole_bytes
FROM whole AS w
JOIN memory AS m ON m.process = w.process AND m.time_ns = w.time_ns AND m.source = 'bill'
JOIN processes AS p ON p.id = w.process
WHERE m.bytes > 0
ORDER BY m.bytes DESC, m.part;
