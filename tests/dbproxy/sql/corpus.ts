/**
 * Statements whose digests are compared with MySQL's own. The table is `t (a int primary key, b varchar(20), c int, j json)`.
 *
 * @module
 */

export const DIGEST_CORPUS: readonly string[] = `
select 1
SELECT 1, 2, 'a', "b", 1.5, .5, 1e5, 1.5e-3, 0x1f, 0b01, x'41', X'41', b'1', N'x'
select -1, +1, - -1, (-1), 1-1, 1 - -1, a-1, -a, -(1) from t
select a<-1, a>-1, a*-1, a and -1, (a, -1) = (1, 2), a or -1, a between -1 and -2 from t
select a from t where a = - 1 and b=1 - 1 and c in (-1, -2)
select a from t where a <= -1 or a >= -1 or a <> -1 or a != -1 or a <=> -1
select case a when -1 then -2 else -3 end from t
select a % -1, a / -1, a div -1, a mod -1, a << -1, a >> -1, a & -1, a | -1, a ^ -1, ~ -1, ! -1, not -1 from t
select * from t where a in (1,2,3)
select * from t where a in(1, 2, 3) and c in (1) and c not in (1, 2)
select * from t where a in (1, a) and c in (1+1, 2)
select * from t where c in ((1),(2))
select * from t where (a,b) in ((1,2),(3,4))
select * from t where (a,b) in ((1,2))
select * from t where a in (select 1)
select * from t where b in ('x')
insert into t (a,b) values (1,'a')
insert into t (a,b) values (1,'a'),(2,'b')
insert into t (a,b) values (1,'a'),(2,'b'),(3,'c')
insert into t (a) values (1)
insert into t (a) values (1),(2),(3)
insert into t values (null, 1, default, 'x')
insert into t values (1,now(),'a',2),(2,now(),'b',3)
insert into t values (),()
insert into t(a,b) values (1,(2)),(3,(4))
insert into t set a=null
insert into t (a) values (1) on duplicate key update a = values(a), b = 'x'
insert ignore into t select * from t
replace into t (a, b) values (1, 2)
update t set a=-1, b=null where c is not null
update t set a = a + 1 where a = 5 order by a limit 10
delete from t where a = 5
delete from t where a is null or a <=> null
select * from t where a is null
select * from t limit 1,2
select * from t limit 10 offset 20
select a.b.c, \`a\`.b from a.t
select t.* from t
select count(*), count(a), sum(a), avg(a), min(a), max(a) from t group by a having count(*) > 1 order by 1 desc
select now(), curdate(), curtime(), current_date, current_time, current_timestamp, localtime, localtimestamp, now(6)
select utc_date, utc_time, utc_timestamp, sysdate(), unix_timestamp()
select adddate(now(), interval 1 day), date_sub(now(), interval 1 month), date_add(now(), interval 1 hour)
select interval 1 minute + now(), interval(1,2,3), extract(year from now()), timestampdiff(second, now(), now())
select std(a), stddev(a), stddev_pop(a), variance(a), var_pop(a), stddev_samp(a), var_samp(a) from t
select mid('a',1), substr('a',1), substring('a' from 1 for 2), position('a' in 'b'), trim(both 'x' from 'xax')
select user(), session_user(), system_user(), current_user, current_user(), database(), schema(), version()
select lower(b), upper(b), concat(b, 'x'), length(b), coalesce(null, 1), if(null, null, 1), ifnull(a, 0) from t
select cast(a as char), cast(a as signed integer), cast(a as decimal(10,2)), convert(a, char), convert(b using utf8mb4) from t
select cast(a as double), cast(a as float), cast(b as date), cast(b as json), binary b from t
select distinct a from t
select distinctrow a from t
select all a from t
select a rlike 'x', a regexp 'x', b like 'x%' escape '|', b not like 'y' from t
select a = some (select 1), a = any (select 1), a > all (select 1), exists (select 1) from t
select a||b, a&&b, a<=>b, a<>b, a!=b, a<<1, j->'$.x', j->>'$.y', !a, ~b, a%2, a div 2, a mod 3, a xor b from t
select @x, @\`y\`, @'z', @a := 1
select @@session.sql_mode, @@sql_mode, @@global.sql_mode, @@local.sql_mode
set names utf8mb4
set names 'utf8mb4' collate 'utf8mb4_bin'
set character set utf8mb4
set session sql_mode='x', autocommit=0
set @a = 1, @b = 'x'
set @@session.sql_mode='x'
set sql_mode = default
set global max_connections = 5
set transaction isolation level read committed
select status, name, type, date, time, text, value, year from t
select t.status, t.select, t.user from t
select 1 as day, 2 as hour, 3 as user, 4 as any, 5 as columns
select 1 as 'x', 2 as "y", 3 z
select \`a\`\`b\` from t
select größe, \`größe\` from t as ü
select 1 -- comment
select /* c */ 1 /* d */ # e
/* lead */ select 1 /*!99999 + 1 */
/*!50000 select */ 1 /*!50110 + 2 */
select 'it''s', 'a\\'b', "x""y"
select 'a' 'b'
select _utf8mb4'x', _latin1 x'41', n'x', _binary 'y'
select date'2020-01-01', time '10:00', timestamp'2020-01-01 00:00:00'
select true, false, null, unknown from t where a is true and b is unknown
select f(1,2,3), f(a,1,2), f() from t
call p(1,2)
do 1
prepare s from 'select 1'
execute s using @a
deallocate prepare s
begin
start transaction
start transaction read only
commit
rollback
savepoint a
rollback to savepoint a
release savepoint a
lock tables t read
unlock tables
show columns from t
show full fields from t like 'x%'
show databases
show schemas
show index from t
show keys from t
show variables like 'sql_mode'
show session status
show local variables
show create table t
show character set
show charset
show warnings
show processlist
desc t
describe t
explain t
explain select 1
explain format=json select 1
kill query 1
kill 5
flush tables
use test
drop database x
create schema x
drop table if exists x
truncate table t
alter table t add index (a)
alter table t add column x int not null default 5, drop column b
create table x (a int not null default 5, b varchar(20) null default null, primary key (a)) engine=innodb
create table x (a int, b integer, c int4, d int1, e tinyint, f middleint, g varchar(3), h varcharacter(3), i char varying(3))
create table x (j dec(3), k numeric(3), l float8, m double, n float4, o real, p bool, q boolean, r character(3))
create table x (s long varchar, t int8, u bigint, v nchar(3), w national char(3), x fixed(3), y int2, z int3, zz smallint)
create table x (a mediumint unsigned zerofill, b enum('a','b'), c set('x'), d decimal(10,2), e datetime(6), f timestamp)
create table x (a int default null, b int not null, c int null default -1 comment 'x')
create temporary table x (a int)
create index i on t (a)
create view v as select 1
create user 'a'@'b' identified by 'x'
create user a@b
grant select on *.* to 'a'@'b'
select 1 union all select 2
select 1 union select 2 except select 3
with c as (select 1) select * from c
with recursive c (n) as (select 1 union all select n + 1 from c where n < 5) select * from c
values row(1,2),row(3,4)
table t
select row(1,2) = (1,2)
select (1),(2)
select (1,2) = (1,2)
select 1, a, 2, 3, b from t
select row_number() over (partition by a order by b), rank() over w from t window w as (order by a)
select * from t x join t y on x.a = y.a left join t z using (a) where x.a > 5
select * from t use index (a) where a = 1
select * from t partition (p0)
select sql_calc_found_rows * from t limit 10
select found_rows(), row_count(), last_insert_id(), connection_id()
select 1 for update
select 1 lock in share mode
select a from t for share of t skip locked
select a into @x from t
select /*+ MAX_EXECUTION_TIME(1000) */ 1
select /*+ BKA(t1@qb) NO_BKA(t2, t3) */ 1
select /*+ SET_VAR(sort_buffer_size=1000) */ a from t
select /*+ qb_name(x) index(t a) join_order(t, u) */ a from t
update /*+ no_merge(x) */ t set a = 1
select group_concat(distinct a order by b separator ',') from t
select json_extract(j, '$.a'), json_arrayagg(a), json_objectagg(b, a) from t
select a member of ('[1,2]') from t
select match (b) against ('x' in boolean mode) from t
select char(65 using utf8mb4), char(65, 66)
select left(b,1), right(b,1), replace(b,1,2), insert(b,1,2,'x'), repeat(b,2), reverse(b), mod(a,2), abs(-1) from t
select year(b), month(b), day(b), hour(b), minute(b), second(b), quarter(b), week(b), date(b), time(b) from t
load data infile 'x' into table t
select 1;
select t.1a from t
select {d '2020-01-01'}
select a, b from t order by 1, 2 desc
select a,b from t group by 1, 2 order by 2, 1 limit 5
select a,b from t order by a, 2
select a,b from t order by 1+1
select a,b from t order by (1)
select a,b from t order by 01
select a,b from t order by 1.5
select a,b from t order by 'x'
select a,b from t order by a+1, 1
select a,b from t order by f(1,2), 1
select a,b from t order by null, 1
select a,b from t order by 1,'x', 2
select a,b from t order by 1 collate utf8mb4_bin
select row_number() over (partition by 1 order by 1) from t
select a, b from t group by 1 having 1 order by 1
select a from t where a in (select 1 order by 1)
(select a from t) order by 1 limit 1
select SQL_NO_CACHE a FROM \`wp_options\` WHERE \`autoload\` IN ( 'yes', 'on', 'auto-on', 'auto' )
SELECT wp_posts.ID FROM wp_posts WHERE 1=1 AND wp_posts.post_type = 'post' AND ((wp_posts.post_status = 'publish')) ORDER BY wp_posts.post_date DESC LIMIT 0, 10
SELECT DISTINCT t.term_id, tr.object_id FROM wp_terms AS t INNER JOIN wp_term_taxonomy AS tt ON t.term_id = tt.term_id WHERE tt.taxonomy IN ('category', 'post_tag') AND tr.object_id IN (1, 2) ORDER BY t.name ASC
select * from users where email = 'a@b.c' and deleted_at is null limit 1
insert into sessions (payload, last_activity, user_id, id) values ('x', 1700000000, null, 'abc')
select table_name as \`name\`, (data_length + index_length) as \`size\` from information_schema.tables where table_schema = 'x' order by table_name
`.trim().split("\n");
