ADMIN EXECUTE ON '10001' 'System.print(1)'
ADMIN EXECUTE ON (10001) 'System.print(1)'
ADMIN EXECUTE ON 1 'x' 'y'
ADMIN EXECUTE ON 10001 'System.print("hi")'
ADMIN EXECUTE ON 10001 'System.print($heap.explode())'
ADMIN EXECUTE ON 10001 'System.print('
ADMIN EXECUTE ON 18446744073709551615 'System.print(1)'
ADMIN EXECUTE ON 7 'x\n'
ADMIN EXECUTE ON ALL 'Foo.bar()'
ADMIN EXECUTE ON ALL BACKENDS 'x'
CALL admin_execute('ALL BACKENDS', 'System.print(1)')
CALL budget('f', NULL)
CALL budget('pool worker-*', '2G')
CALL heapwire.budget('LRUCache::*', '2G')
COMMIT AND NO CHAIN NO RELEASE
DESCRIBE `heapwire`.`nodes` id
DESCRIBE heapwire.nope
DO (SELECT count(*) FROM heapwire.heap_stacks)
KILL QUERY connection_id()
SELECT * FROM heapwire.nodes LIMIT 0
SELECT * FROM heapwire.nope
SELECT * FROM heapwire.sessions ORDER BY id DESC
SELECT * FROM heapwire.users ORDER BY name
SELECT COUNT(*) FROM heapwire.sessions
SELECT MAX(a) AS m FROM (SELECT 1 AS a UNION SELECT 2) t HAVING m > 1
SELECT a + 1 AS b FROM (SELECT 1 AS a UNION SELECT 2 UNION SELECT 3) t HAVING b > 2 ORDER BY b LIMIT 1
SELECT a, ROW_NUMBER() OVER (ORDER BY a DESC) AS r, SUM(a) OVER (ORDER BY a ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS s, COUNT(*) OVER () AS c FROM (SELECT 1 AS a UNION SELECT 2) t ORDER BY a
SELECT count(*) FROM information_schema.columns a, heapwire.sessions b
SELECT function FROM heapwire.heap_functions
SELECT function, flat_bytes FROM heapwire.heap_functions ORDER BY 2 DESC
SELECT id FROM heapwire.sessions ORDER BY id LIMIT ?, ?
SELECT id FROM heapwire.sessions WHERE id = ?
SELECT id FROM heapwire.sessions WHERE id = ? AND command LIKE ?
SELECT id FROM heapwire.sessions WHERE id IN (?, ?) ORDER BY id
SELECT n FROM (WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL
SELECT s.bytes, f.function, s.folded FROM heapwire.heap_stacks s JOIN heapwire.heap_frames f USING (snapshot, stack) WHERE snapshot = 'heap_k' ORDER BY f.function DESC
SELECT s.name, sum(h.bytes) FROM heapwire.snapshots s
SELECT state FROM heapwire.profiler
SET @@session.nope = 1
SET @@session.sql_mode = 'x'
SET @a = 1, autocommit = 0, wait_timeout = 5, nope = 1
SET @a = CONCAT(?, '!'), autocommit = ?
SET NAMES 'utf8mb4' COLLATE 'utf8mb4_0900_ai_ci'
SET SESSION time_zone='+01:00'
SET SQL_AUTO_IS_NULL = 0
SET SQL_SAFE_UPDATES=1,SQL_SELECT_LIMIT=1000,MAX_JOIN_SIZE=1000000
SET foreign_key_checks=1, unique_checks = 0
SET sql_mode=(SELECT CONCAT(@@sql_mode, ',PIPES_AS_CONCAT,NO_ENGINE_SUBSTITUTION')),time_zone='+00:00',NAMES utf8mb4;
SET sql_select_limit = 1
SHOW /*!50002 GLOBAL */ STATUS
SHOW CREATE DATABASE IF NOT EXISTS `heapwire`
SHOW CREATE VIEW heapwire.nodes
SHOW DATABASES LIKE ?
SHOW INDEX FROM heapwire.nodes
SHOW KEYS FROM heapwire.nope
SHOW SESSION VARIABLES LIKE 'sql\_mod_'
SHOW STATUS LIKE 'Ssl_cipher'
SHOW STATUS WHERE Variable_name = 'Threads_connected'
SHOW TABLE STATUS FROM `heapwire` LIKE 'nodes'
SHOW TRIGGERS IN heapwire LIKE 'x'
SHOW VARIABLES WHERE Variable_name = 'sql_mode'
SHOW WARNINGS LIMIT 1, 2
START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY
USE INFORMATION_SCHEMA
USE information_schema
WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c)
WITH c(n) AS (SELECT 1) SELECT t.*, CASE WHEN 1 THEN `n` END FROM c t
admin execute on 10001 "x";
select "id" x from heapwire.nodes
select (select 1 from heapwire.profiler)
select (select 1), (select 'a'), (select max(id) from heapwire.nodes), (select n.since from heapwire.sessions limit 1) from heapwire.nodes n
select (with nodes as (select 1 x) select x from nodes), id from nodes
select * from (heapwire.nodes a join heapwire.sessions b)
select * from (select * from (select id from heapwire.nodes) a) b
select * from heapwire.heap_stacks
select * from heapwire.json_each('[1]')
select * from heapwire.nodes
select * from heapwire.nodes a join heapwire.nodes b using (id) limit 0
select * from heapwire.nodes n left join (select 1 x union select 2) y on (n.id = y.x) where n.id in (select id from heapwire.nodes)
select * from heapwire.profiler
select * from heapwire.sqlite_master
select 1 from heapwire.heap_functions where snapshot = null
select 1 from heapwire.heap_stacks where snapshot = 'now'
select 1 from heapwire.nodes a join heapwire.nodes b on a.nope = 1
select 1 union select 2 into @a
select `x`.nope from heapwire.nodes
select a x from (select 1 a union select 2) t having x > 1
select bytes from heapwire.heap_stacks limit 0
select bytes from heapwire.heap_stacks where stack <=> 4
select bytes from heapwire.heap_stacks where stack = 2
select bytes from heapwire.heap_stacks where stack = 2.5
select concat(nope) from heapwire.nodes
select count(*) from heapwire.heap_stacks where snapshot in ('sa'
select count(*) n from (select s.bytes, f.function from heapwire.heap_stacks s join heapwire.heap_frames f using (snapshot, stack) where s.snapshot = 'large' and s.bytes > 19990) t
select count(*) n from heapwire.heap_functions a join heapwire.heap_functions b using (function) where a.snapshot = 'large' and b.snapshot = 'large' and a.cum_bytes = b.cum_bytes
select count(*) over (), sum(id) over (order by id) from heapwire.sessions
select count(distinct function) n from heapwire.heap_frames where snapshot = 'large'
select cum_bytes from heapwire.heap_functions where function = 'alph'
select depth from heapwire.heap_frames where stack = 2 and depth > 0
select id from heapwire.nodes
select id from heapwire.nodes natural join heapwire.sessions limit 0
select id from heapwire.nodes where id = 1 and (select count(*) from heapwire.heap_stacks) > 0
select id from heapwire.sessions
select id id, id as `select`, nodes.id from heapwire.nodes
select id, address, since from heapwire.nodes
select id, port p from (select ID, port from heapwire.nodes) t
select max(id), count(*) from heapwire.nodes where id < 0
select n.function, n.cum_bytes - k.cum_bytes more from heapwire.heap_functions n join heapwire.heap_functions k on k.function = n.function and k.snapshot = 'heap_a' where n.snapshot = 'now' order by more desc, 1
select name, max(h.stack) n from heapwire.snapshots s left join heapwire.heap_frames h on h.snapshot = s.name and depth = 0 group by 1
select nope from heapwire.nodes
select rss, profile_bytes p from heapwire.memory
select s.name, count(*) n from heapwire.heap_stacks h cross join heapwire.snapshots s where s.name = h.snapshot group by 1
select s.name, count(*) n from heapwire.heap_stacks h join heapwire.snapshots s on h.snapshot = s.name group by 1
select s.name, count(*) n from heapwire.heap_stacks h, heapwire.snapshots s, heapwire.nodes where s.name = h.snapshot group by 1
select snapshot name, count(*) n from heapwire.heap_stacks where (snapshot = 'heap_a' and stack < 9) or (snapshot = 'heap_b' and stack < 9) group by 1
select snapshot name, count(*) n from heapwire.heap_stacks where snapshot = 'heap_a' or snapshot = 'heap_b' group by 1
select snapshot, sum(bytes) from heapwire.heap_stacks where snapshot in ('heap_b', 'HEAP_A') group by 1
select table_schema, count(*) from information_schema.tables where table_name in ('tables', 'columns', 'nodes') group by table_schema having count(*) > 1
set @@max_execution_time=1000
set @@sql_select_limit=DEFAULT
set session wait_timeout = 600
set wait_timeout = 'soon'
set wait_timeout = 5
set wait_timeout = 99999999999
show databases where 1 in backends
show tables from `show`
with recursive c(n) as (select 1 union all select n + 1 from c where n < 200) select n from c union all select bytes from heapwire.heap_stacks union all select 7 from heapwire.nodes
select 1 where (1 having 1)
select is not 1
kill 7
with c0 as (select 1 x), c1 as (select a.x from c0 a, c0 b) select x from c1
values row(1), row(2)
table heapwire.nodes
select 1 into @a
(select 1) union (select 2) order by 1 limit 1
check table heapwire.nodes
explain select id from heapwire.nodes
