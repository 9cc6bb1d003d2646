/** Whether a reported value of the variable may be set again on another connection with the same effect. */
export function isReplayable(_name: string, _server: "mysql" | "mariadb"): boolean {
  return false;
}
