CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, value REAL);
WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 120000)
INSERT INTO t SELECT n, 'name-' || (n * 7919 % 120000), n * 1.5 FROM c;
CREATE INDEX t_name ON t(name);
SELECT count(*), sum(value) FROM t WHERE name LIKE 'name-1%';
SELECT name, count(*) FROM t GROUP BY substr(name, 1, 8) ORDER BY 2 DESC LIMIT 3;
UPDATE t SET name = name || '-changed' WHERE id % 3 = 0;
DELETE FROM t WHERE id % 5 = 0;
SELECT count(*) FROM t a JOIN t b ON a.id = b.id + 1;
