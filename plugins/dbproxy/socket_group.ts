import { giveToGroup as give, type GroupSystem } from "../../core/socket_group.ts";

export type { GroupSystem };

/**
 * As {@linkcode give}.
 *
 * @throws CoreError `DB_SOCKET_GROUP`
 */
export function giveToGroup(path: string, group: string | undefined, from?: GroupSystem): void {
  give(path, group, "DB_SOCKET_GROUP", from);
}
