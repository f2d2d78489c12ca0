-- How far is resident memory from what is live, over time? Of several processes, shared pages count in each.
-- rows = 20 (1..): into so many stretches of equal length time is cut
-- says: Resident memory and live bytes are furthest apart from {_from_ns} on: {_resident_bytes} resident, {_live_bytes} live.
-- says nothing: The trace does not know resident memory.
WITH stretches AS MATERIALIZED (SELECT *, max(rss_bytes) OVER () AS most FROM timeline(:rows) WHERE rss_bytes > 0)
SELECT begin_ns AS from_ns, live_bytes, rss_bytes AS resident_bytes, rss_bytes - live_bytes AS apart_bytes,
       bar(live_bytes, most, 20) AS live_bar, bar(rss_bytes, most, 20) AS resident_bar, first_value(begin_ns) OVER first AS _from_ns,
       first_value(rss_bytes) OVER first AS _resident_bytes, first_value(live_bytes) OVER first AS _live_bytes
FROM stretches
WINDOW first AS (ORDER BY rss_bytes - live_bytes DESC, begin_ns)
ORDER BY begin_ns;
