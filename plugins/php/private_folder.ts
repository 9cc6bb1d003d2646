/**
 * Private folders of php-fpm, and of workers.
 *
 * @module
 */
import type { FolderOwner } from "../../core/folder_owner.ts";
import * as folders from "../../core/private_folder.ts";
import { endLeftBehind } from "./left_behind.ts";

export interface FolderKind {
  /** What its name begins with; our pid follows. */
  readonly prefix: string;
  /** The socket in it that says whether somebody still uses it, where its owner cannot be seen. */
  readonly socket: string;
  /** The longest name of a socket in it. */
  readonly longest: string;
}

/** What was found of a server that is gone: its folder, and the PHP processes that still used it, which were ended. */
export interface LeftBehind {
  readonly path: string;
  readonly owner: FolderOwner;
  readonly ended: readonly number[];
}

/**
 * Makes the folder. As root it can be passed through by others but not listed (0711), for PHP runs as somebody else.
 *
 * @throws `PHP_START` when it cannot be made, or is so deep that a socket's path would not fit.
 */
export function makePrivateFolder(
  { prefix, longest }: Omit<FolderKind, "socket">,
  asRoot: boolean,
  parent?: string,
): folders.PrivateFolder {
  return folders.makePrivateFolder({ prefix, longest, mode: asRoot ? 0o711 : 0o700, code: "PHP_START", parent });
}

/** As the core removes those of servers that are gone; and ends PHP processes that still use them. Never rejects. */
export function removeStaleFolders(
  { prefix, socket }: Pick<FolderKind, "prefix"> & Partial<FolderKind>,
  parent?: string,
  now: number = Date.now(),
  onLeft: (left: LeftBehind) => void = () => {},
): Promise<void> {
  const end = async (path: string, owner: FolderOwner) =>
    onLeft({ path, owner, ended: await endLeftBehind(path, owner) });
  return folders.removeStaleFolders({ prefix, socket, parent, now, end });
}
