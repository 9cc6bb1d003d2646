import { lstatSync, unlinkSync } from "node:fs";
import { connect } from "node:net";
import { CoreError } from "../error.ts";

/**
 * Makes room for a unix socket of this name: one that nobody serves any more is removed.
 *
 * @throws CoreError `ADDRESS_TAKEN` when it is served, or a file
 */
export async function clearSocket(path: string): Promise<void> {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return;
  if (!stat.isSocket()) {
    throw new CoreError("ADDRESS_TAKEN", `Cannot listen on unix:${path}: a file of that name exists`);
  }
  const live = await new Promise<boolean>((resolve) => {
    const socket = connect(path, () => (socket.destroy(), resolve(true)));
    socket.on("error", () => resolve(false));
  });
  if (live) throw new CoreError("ADDRESS_TAKEN", `Cannot listen on unix:${path}: another process serves it`);
  unlinkSync(path);
}
