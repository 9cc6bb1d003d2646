/**
 * The built-in functions whose call leaves nothing in its session, after the servers' function catalogues; the tests ask both
 * servers for each. A name that is not here counts as a stored or loadable function, which may do anything.
 *
 * Left out on purpose, beside what has a row of its own in the analysis: waiting for replication (`SOURCE_POS_WAIT`,
 * `MASTER_GTID_WAIT`, `WAIT_FOR_EXECUTED_GTID_SET`; they count in session status), sequences (`NEXTVAL`, `SETVAL`, `LASTVAL`),
 * loadable functions of the servers' own components (`version_tokens_*`, `service_get_*`, `keyring_*`, `audit_*`,
 * `group_replication_*`, `asynchronous_connection_failover_*`, `mysql_query_attribute_string`) and those that only
 * information-schema views may call (`CAN_ACCESS_*`, `INTERNAL_*`, `GET_DD_*`).
 *
 * Kept although they look unsafe: `SLEEP` and `BENCHMARK` (time only; an argument is judged by itself), `RAND` (its seed
 * cannot be read back and is random from the start), `UUID`, `LOAD_FILE`, `IS_FREE_LOCK` and `IS_USED_LOCK` (they read).
 *
 * @module
 */

/** Of both servers. */
export const PURE_COMMON = `
abs acos adddate addtime aes_decrypt aes_encrypt ascii asin atan atan2 avg benchmark bin bit_and bit_count
bit_length bit_or bit_xor cast ceil ceiling char char_length character_length charset coalesce coercibility collation
compress concat concat_ws connection_id conv convert convert_tz cos cot count crc32 cume_dist curdate current_date
current_role current_time current_timestamp current_user curtime database date date_add date_format date_sub datediff day
dayname dayofmonth dayofweek dayofyear default degrees dense_rank elt exp export_set extract extractvalue field
find_in_set first_value floor format found_rows from_base64 from_days from_unixtime get_format greatest group_concat hex
hour if ifnull inet6_aton inet6_ntoa inet_aton inet_ntoa insert instr is_free_lock is_ipv4 is_ipv4_compat is_ipv4_mapped
is_ipv6 is_used_lock isnull json_array json_array_append json_array_insert json_arrayagg json_contains json_contains_path
json_depth json_extract json_insert json_keys json_length json_merge json_merge_patch json_merge_preserve json_object
json_objectagg json_overlaps json_pretty json_quote json_remove json_replace json_search json_set
json_type json_unquote json_valid json_value lag last_day last_insert_id last_value lcase lead least left length
ln load_file localtime localtimestamp locate log log10 log2 lower lpad ltrim make_set makedate maketime max
microsecond mid min minute mod month monthname name_const now nth_value ntile nullif oct octet_length ord percent_rank
period_add period_diff pi position pow power quarter quote radians rand random_bytes rank regexp_instr regexp_replace
regexp_substr repeat replace reverse right round row_count row_number rpad rtrim schema sec_to_time second session_user
sha2 sign sin sleep soundex space sqrt std stddev stddev_pop stddev_samp str_to_date strcmp subdate substr
substring substring_index subtime sum sysdate system_user tan time time_format time_to_sec timediff timestamp timestampadd
timestampdiff to_base64 to_days to_seconds trim truncate ucase uncompress uncompressed_length unhex unix_timestamp
updatexml upper user utc_date utc_time utc_timestamp uuid uuid_short values var_pop var_samp variance version week weekday
weekofyear weight_string year yearweek
st_area st_asbinary st_asgeojson st_astext st_aswkb st_aswkt st_buffer st_centroid st_contains st_convexhull st_crosses
st_difference st_dimension st_disjoint st_distance st_distance_sphere st_endpoint st_envelope st_equals st_exteriorring
st_geomcollfromtext st_geomcollfromwkb st_geometrycollectionfromtext st_geometrycollectionfromwkb st_geometryfromtext
st_geometryfromwkb st_geometryn st_geometrytype st_geomfromgeojson st_geomfromtext st_geomfromwkb st_interiorringn
st_intersection st_intersects st_isclosed st_isempty st_issimple st_length st_linefromtext st_linefromwkb
st_linestringfromtext st_linestringfromwkb st_numgeometries st_numinteriorrings st_numpoints st_overlaps st_pointfromtext
st_pointfromwkb st_pointn st_polyfromtext st_polyfromwkb st_polygonfromtext st_polygonfromwkb st_srid st_startpoint
st_symdifference st_touches st_union st_within st_x st_y
mbrcontains mbrdisjoint mbrequals mbrintersects mbroverlaps mbrtouches mbrwithin
`;

/** Of MySQL alone. */
export const PURE_MYSQL = `
json_schema_valid json_table geometrycollection linestring multilinestring multipoint multipolygon point polygon
any_value bin_to_uuid etag format_bytes format_pico_time geomcollection grouping gtid_subset gtid_subtract icu_version
is_uuid json_schema_validation_report json_storage_free json_storage_size mbrcoveredby mbrcovers ps_current_thread_id
ps_thread_id regexp_like roles_graphml st_frechetdistance st_geohash st_hausdorffdistance st_isvalid st_latfromgeohash
st_latitude st_lineinterpolatepoint st_lineinterpolatepoints st_longfromgeohash st_longitude st_makeenvelope
st_mlinefromtext st_mlinefromwkb st_mpointfromtext st_mpointfromwkb st_mpolyfromtext st_mpolyfromwkb
st_multilinestringfromtext st_multilinestringfromwkb st_multipointfromtext st_multipointfromwkb st_multipolygonfromtext
st_multipolygonfromwkb st_numinteriorring st_pointatdistance st_pointfromgeohash st_simplify st_swapxy st_transform
st_validate statement_digest statement_digest_text string_to_vector to_vector uuid_to_bin vector_dim vector_to_string
from_vector validate_password_strength st_collect
`;

/** Of MySQL before 9, where a component took their place: without it they are names like any other. */
export const PURE_MYSQL_8 = "md5 sha sha1";

/**
 * Of MariaDB alone. Its geometry constructors and JSON_TABLE are missing: with other arguments than theirs the same names
 * call stored functions.
 */
export const PURE_MARIADB = `
md5 sha sha1
add_months area asbinary astext aswkb aswkt boundary buffer centroid chr column_add column_check column_create column_delete
column_exists column_get column_json column_list concat_operator_oracle contains convexhull crc32c crosses decode
decode_histogram decode_oracle des_decrypt des_encrypt dimension disjoint encode encrypt endpoint envelope equals
exteriorring geomcollfromtext geomcollfromwkb geometrycollectionfromtext geometrycollectionfromwkb geometryfromtext
geometryfromwkb geometryn geometrytype geomfromtext geomfromwkb glength interiorringn intersects isclosed isempty isring
issimple json_compact json_detailed json_equals json_exists json_loose json_normalize json_query lengthb linefromtext
linefromwkb linestringfromtext linestringfromwkb median mlinefromtext mlinefromwkb mpointfromtext mpointfromwkb
mpolyfromtext mpolyfromwkb multilinestringfromtext multilinestringfromwkb multipointfromtext multipointfromwkb
multipolygonfromtext multipolygonfromwkb natural_sort_key numgeometries numinteriorrings numpoints nvl nvl2 old_password
overlaps password percentile_cont percentile_disc pointfromtext pointfromwkb pointn pointonsurface polyfromtext polyfromwkb
polygonfromtext polygonfromwkb sformat srid st_boundary st_isring st_pointonsurface st_relate startpoint sys_guid to_char
touches trim_oracle within x y
`;

/**
 * Names that are functions only where the parenthesis follows at once, or after space under IGNORE_SPACE; else the servers
 * look for a stored function of that name.
 */
export const SPACE_SENSITIVE = `
adddate bit_and bit_or bit_xor cast count curdate curtime date_add date_sub extract group_concat json_arrayagg
json_objectagg max mid min now position session_user st_collect std stddev stddev_pop stddev_samp subdate substr substring
sum sysdate system_user trim var_pop var_samp variance dense_rank rank row_number cume_dist percent_rank ntile lag lead
first_value last_value nth_value median percentile_cont percentile_disc date_format decode trim_oracle
`;

/**
 * Keywords that may stand before a parenthesis without being called. None of them can name a stored function unless it is
 * quoted or qualified; the tests try each.
 */
export const CONSTRUCTS = `
in exists as over on and or xor not using where having by select distinct distinctrow all any some from join union except
intersect when then else case between like regexp rlike div interval binary key index partition limit match
row table end straight_join is return values char varchar nchar decimal numeric dec float double real datetime
time timestamp bit signed unsigned force use ignore with
`;

/** Such of MySQL alone: MariaDB calls stored functions of these names. */
export const CONSTRUCTS_MYSQL = "escape against lateral of columns";

/** Such only behind a parenthesis, a literal or a variable, where no call can stand (`MATCH (a) AGAINST (...)`). */
export const BEHIND_OPERAND = "escape against";
