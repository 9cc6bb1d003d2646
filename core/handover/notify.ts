import process from "node:process";
import { find } from "../libc.ts";

const AF_UNIX = 1, SOCK_DGRAM = 2, SOCK_CLOEXEC = 0x80000;

/**
 * Tells the service manager, where one has asked for it (sd_notify(3)). Does nothing where none has; false where it cannot be told.
 *
 * @param state lines such as `READY=1`
 */
export function notifyManager(state: string, to: string | undefined = process.env["NOTIFY_SOCKET"]): boolean {
  if (to === undefined || to === "") return true;
  const socket = find("socket", ["i32", "i32", "i32"]), close = find("close", ["i32"]);
  const sendto = find("sendto", ["i32", "buffer", "i32", "i32", "buffer", "i32"]);
  if (!socket || !close || !sendto) return false;
  const fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const address = addressBytes(to), message = new TextEncoder().encode(state);
  const sent = sendto(fd, message, message.length, 0, address, address.length);
  close(fd);
  return sent === message.length;
}

/** struct sockaddr_un; a name that begins with `@` is one of the abstract namespace. */
function addressBytes(path: string): Uint8Array {
  const name = new TextEncoder().encode(path.replace(/^@/, "\0"));
  const bytes = new Uint8Array(2 + name.length);
  new DataView(bytes.buffer).setUint16(0, AF_UNIX, true);
  bytes.set(name, 2);
  return bytes;
}
