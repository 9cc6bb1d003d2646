/** What kind of thing an error packet reports: a metrics label. */
export type ErrorClass =
  | "syntax"
  | "unknown_object"
  | "duplicate"
  | "constraint"
  | "value"
  | "deadlock"
  | "lock_timeout"
  | "timeout"
  | "killed"
  | "access"
  | "read_only"
  | "connections"
  | "lost"
  | "other";

/** Codes by class; everything else is `other`. Source: the servers' lists of errors. */
export const errorClasses: Readonly<Record<Exclude<ErrorClass, "other">, readonly number[]>> = {
  syntax: [1064, 1065, 1149],
  unknown_object: [1008, 1046, 1049, 1051, 1054, 1091, 1109, 1146, 1243, 1305],
  duplicate: [1007, 1022, 1050, 1061, 1062, 1169, 1586],
  constraint: [1048, 1216, 1217, 1364, 1451, 1452, 3819, 4025],
  value: [1136, 1264, 1265, 1292, 1366, 1406, 1690],
  deadlock: [1213, 1614],
  lock_timeout: [1205, 3572],
  timeout: [1969, 3024],
  killed: [1317, 1927],
  access: [1044, 1045, 1142, 1143, 1227, 1370, 1698, 1820, 3118],
  read_only: [1290, 1792, 1836, 3100],
  connections: [1040, 1203, 1226],
  lost: [1053, 1077, 1080, 1153, 1158, 1159, 1160, 1161, 4031],
};
