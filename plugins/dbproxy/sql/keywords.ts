/**
 * MySQL's keywords (those of 9.x, from its information_schema.KEYWORDS), and how its digests spell them: of words with one
 * meaning they print the last in the alphabet.
 *
 * @module
 */

export const KEYWORDS = `
absent accessible account action active add admin after against aggregate algorithm all allow_missing_files alter always
analyze and any array as asc ascii asensitive assign_gtids_to_anonymous_transactions at attribute authentication auto
autoextend_size auto_increment auto_refresh auto_refresh_source avg avg_row_length backup before begin bernoulli between
bigint binary binlog bit blob block bool boolean both btree buckets bulk by byte cache call cascade cascaded case
catalog_name chain challenge_response change changed channel char character charset check checksum cipher class_origin
client clone close coalesce code collate collation column columns column_format column_name comment commit committed
compact completion component compressed compression concurrent condition connection consistent constraint
constraint_catalog constraint_name constraint_schema contains context continue convert cpu create cross cube cume_dist
current current_date current_time current_timestamp current_user cursor cursor_name data database databases datafile
date datetime day day_hour day_microsecond day_minute day_second deallocate dec decimal declare default default_auth
definer definition delayed delay_key_write delete dense_rank desc describe description deterministic diagnostics
directory disable discard disk distinct distinctrow div do double drop dual duality dumpfile duplicate dynamic each else
elseif empty enable enclosed encryption end ends enforced engine engines engine_attribute enum error errors escape
escaped event events every except exchange exclude execute exists exit expansion expire explain export extended
extent_size external external_format factor failed_login_attempts false fast faults fetch fields file files
file_block_size file_format file_name file_pattern file_prefix filter finish first first_value fixed float float4 float8
flush following follows for force foreign format found from full fulltext function general generate generated
geomcollection geometry geometrycollection get get_format get_source_public_key global grant grants group grouping
groups group_replication gtids gtid_only guided handler hash having header help high_priority histogram history host
hosts hour hour_microsecond hour_minute hour_second identified if ignore ignore_server_ids import in inactive index
indexes infile initial initial_size initiate inner inout insensitive insert insert_method install instance int int1 int2
int3 int4 int8 integer intersect interval into invisible invoker io io_after_gtids io_before_gtids io_thread ipc is
isolation issuer iterate join json json_table json_value key keyring keys key_block_size kill lag language last
last_value lateral lead leading leave leaves left less level library like limit linear lines linestring list load local
localtime localtimestamp lock locked locks log logfile logs long longblob longtext loop low_priority manual masking
master match materialized maxvalue max_connections_per_hour max_queries_per_hour max_rows max_size max_updates_per_hour
max_user_connections medium mediumblob mediumint mediumtext member memory merge message_text microsecond middleint
migrate minute minute_microsecond minute_second min_rows mod mode modifies modify month multilinestring multipoint
multipolygon mutex mysql_errno name names national natural nchar ndb ndbcluster nested network_namespace never new next
no nodegroup none not nowait no_wait no_write_to_binlog nth_value ntile null nulls number numeric nvarchar of off offset
oj old on one only open optimize optimizer_costs option optional optionally options or order ordinality organization
others out outer outfile over owner pack_keys page parallel parameters parser parse_tree partial partition partitioning
partitions password password_lock_time path percent_rank persist persist_only phase plugin plugins plugin_dir point
policy polygon port precedes preceding precision prepare preserve prev primary privileges privilege_checks_user
procedure process processlist profile profiles proxy purge qualify quarter query quick random range rank read reads
read_only read_write real rebuild recover recursive redo_buffer_size redundant reference references regexp registration
relational relay relaylog relay_log_file relay_log_pos relay_thread release reload remove rename reorganize repair
repeat repeatable replace replica replicas replicate_do_db replicate_do_table replicate_ignore_db replicate_ignore_table
replicate_rewrite_db replicate_wild_do_table replicate_wild_ignore_table replication require require_row_format
require_table_primary_key_check reset resignal resource respect restart restore restrict resume retain return
returned_sqlstate returning returns reuse reverse revoke right rlike role rollback rollup rotate routine row rows
row_count row_format row_number rtree s3 savepoint schedule schema schemas schema_name second secondary secondary_engine
secondary_engine_attribute secondary_load secondary_unload second_microsecond security select sensitive separator serial
serializable server session set sets share show shutdown signal signed simple skip slave slow smallint snapshot socket
some soname sounds source source_auto_position source_bind source_compression_algorithms source_connection_auto_failover
source_connect_retry source_delay source_heartbeat_period source_host source_log_file source_log_pos source_password
source_port source_public_key_path source_retry_count source_ssl source_ssl_ca source_ssl_capath source_ssl_cert
source_ssl_cipher source_ssl_crl source_ssl_crlpath source_ssl_key source_ssl_verify_server_cert source_tls_ciphersuites
source_tls_version source_user source_zstd_compression_level spatial specific sql sqlexception sqlstate sqlwarning
sql_after_gtids sql_after_mts_gaps sql_before_gtids sql_big_result sql_buffer_result sql_calc_found_rows sql_no_cache
sql_small_result sql_thread sql_tsi_day sql_tsi_hour sql_tsi_minute sql_tsi_month sql_tsi_quarter sql_tsi_second
sql_tsi_week sql_tsi_year srid ssl stacked start starting starts stats_auto_recalc stats_persistent stats_sample_pages
status stop storage stored straight_join stream strict_load string subclass_origin subject subpartition subpartitions
super suspend swaps switches system table tables tablesample tablespace table_checksum table_name temporary temptable
terminated text than then thread_priority ties time timestamp timestampadd timestampdiff tinyblob tinyint tinytext tls
to trailing transaction trigger triggers true truncate type types unbounded uncommitted undefined undo undofile
undo_buffer_size unicode uninstall union unique unknown unlock unregister unsigned until update upgrade uri url usage
use user user_resources use_frm using utc_date utc_time utc_timestamp validate validation value values varbinary varchar
varcharacter variables varying vcpu vector verify_key_constraints view virtual visible wait warnings week weight_string
when where while window with without work wrapper write x509 xa xid xml xor year year_month zerofill zone
`;

/** Keywords only where a parenthesis follows at once (or after space under IGNORE_SPACE). */
export const FUNCTION_KEYWORDS = `
adddate bit_and bit_or bit_xor cast count curdate curtime date_add date_sub extract group_concat json_arrayagg
json_objectagg max mid min now position session_user st_collect std stddev stddev_pop stddev_samp subdate substr substring
sum sysdate system_user trim var_pop var_samp variance
`;

/** A word and what the digest prints for it. */
export const SPELLED = `
any=some bigint=int8 char=character columns=fields current_date=curdate current_time=curtime current_timestamp=now
database=schema databases=schemas day=sql_tsi_day dec=decimal describe=explain distinct=distinctrow double=float8
float=float4 geomcollection=geometrycollection hour=sql_tsi_hour int=integer int1=tinyint int2=smallint int3=middleint
int4=integer io_thread=relay_thread localtime=now localtimestamp=now mediumint=middleint mid=substring
minute=sql_tsi_minute month=sql_tsi_month ndb=ndbcluster quarter=sql_tsi_quarter regexp=rlike second=sql_tsi_second
session_user=system_user sql_tsi_week=week sql_tsi_year=year std=stddev_pop stddev=stddev_pop substr=substring
user=system_user varchar=varcharacter variance=var_pop
`;

/** Names of optimizer hints. */
export const HINTS = `
bka no_bka bnl no_bnl derived_condition_pushdown no_derived_condition_pushdown dupsweedout firstmatch intoexists loosescan
materialization no_icp mrr no_mrr no_range_optimization no_semijoin semijoin subquery max_execution_time qb_name set_var
resource_group hash_join no_hash_join join_fixed_order join_order join_prefix join_suffix index_merge no_index_merge
skip_scan no_skip_scan index no_index join_index no_join_index group_index no_group_index order_index no_order_index merge
no_merge
`;

/** Charsets that may introduce a string (`_utf8mb4'...'`). */
export const CHARSETS = `
_armscii8 _ascii _big5 _binary _cp1250 _cp1251 _cp1256 _cp1257 _cp850 _cp852 _cp866 _cp932 _dec8 _eucjpms _euckr _gb18030
_gb2312 _gbk _geostd8 _greek _hebrew _hp8 _keybcs2 _koi8r _koi8u _latin1 _latin2 _latin5 _latin7 _macce _macroman _sjis
_swe7 _tis620 _ucs2 _ujis _utf16 _utf16le _utf32 _utf8 _utf8mb3 _utf8mb4
`;
