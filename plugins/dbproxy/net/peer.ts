/**
 * Which process of this machine is at the other end of a connection. Linux only; elsewhere nothing is known.
 *
 * @module
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { endianness } from "node:os";
import { unixPeerPid } from "../../../core/libc.ts";

/** What of the system is asked, so that tests can be others. */
export interface PeerSystem {
  /** What the kernel noted when a unix socket was connected (`SO_PEERCRED`, see unix(7)). */
  credentials(fd: number): number | undefined;
  /** Text of a file. */
  read(path: string): string;
  /** Targets of the links in a folder. */
  links(folder: string): Iterable<string>;
}

/** A connection as both ends see it: `remote` is the peer's. */
export interface TcpEnds {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
}

/** The process that connected to our unix socket. Never throws. */
export function unixPeer(fd: number | undefined, from: PeerSystem = system): number | undefined {
  if (fd === undefined || fd < 0) return undefined;
  try {
    const pid = from.credentials(fd);
    // 0: a process that this container cannot see.
    return pid === undefined || pid <= 0 ? undefined : pid;
  } catch {
    return undefined;
  }
}

/**
 * Which of the `candidates` holds the other end of a TCP connection within this machine. It reads the system's list of
 * connections and the candidates' descriptors: milliseconds on a busy machine. Never throws.
 */
export function tcpPeer(ends: TcpEnds, candidates: Iterable<number>, from: PeerSystem = system): number | undefined {
  try {
    const pids = [...candidates];
    if (pids.length === 0) return undefined;
    const inode = inodeOf(ends, from);
    if (inode === undefined) return undefined;
    const link = `socket:[${inode}]`;
    return pids.find((pid) => holds(pid, link, from));
  } catch {
    return undefined;
  }
}

function holds(pid: number, link: string, from: PeerSystem): boolean {
  try {
    for (const target of from.links(`/proc/${pid}/fd`)) if (target === link) return true;
  } catch {
    // It has ended, or is not ours to look at.
  }
  return false;
}

/** The inode of the peer's socket, from the kernel's table (proc_pid_net(5)): addresses there are `HEX:PORT`. */
function inodeOf(ends: TcpEnds, from: PeerSystem): string | undefined {
  const { remoteAddress, remotePort, localAddress, localPort } = ends;
  if (!remoteAddress || !localAddress || remotePort === undefined || localPort === undefined) return undefined;
  const [client, server] = [plain(remoteAddress), plain(localAddress)];
  // A socket for IPv6 may have been connected to an IPv4 address.
  for (const table of client.includes(":") ? ["tcp6"] : ["tcp", "tcp6"]) {
    let text: string;
    try {
      text = from.read(`/proc/self/net/${table}`);
    } catch {
      continue;
    }
    const ports = new RegExp(`^ *\\d+: ([0-9A-F]+):${hex(remotePort)} ([0-9A-F]+):${hex(localPort)} .*$`, "gm");
    for (const [row, local, remote] of text.matchAll(ports)) {
      if (addressOf(local!) !== client || addressOf(remote!) !== server) continue;
      const inode = row.trim().split(/ +/)[9];
      // 0: nobody holds it any more.
      if (inode !== undefined && inode !== "0") return inode;
    }
  }
  return undefined;
}

function hex(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, "0");
}

/** An address as the kernel prints it, words of 32 bits in its own byte order, in its usual form. */
function addressOf(words: string): string {
  const little = endianness() === "LE";
  const bytes = (words.match(/.{8}/g) ?? []).flatMap((word) => {
    const four = (word.match(/../g) ?? []).map((pair) => Number.parseInt(pair, 16));
    return little ? four.reverse() : four;
  });
  if (bytes.length === 4) return bytes.join(".");
  const groups: string[] = [];
  for (let at = 0; at < bytes.length; at += 2) groups.push((bytes[at]! << 8 | bytes[at + 1]!).toString(16));
  return plain(groups.join(":"));
}

/** One form for each address; that of IPv4 also for one mapped into IPv6. */
function plain(address: string): string {
  if (!address.includes(":")) return address;
  const short = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(short);
  if (mapped === null) return short;
  return [mapped[1]!, mapped[2]!].flatMap((group) => {
    const two = Number.parseInt(group, 16);
    return [two >> 8, two & 0xff];
  }).join(".");
}

const system: PeerSystem = {
  credentials: unixPeerPid,
  read: (path) => readFileSync(path, "utf8"),
  *links(folder) {
    for (const name of readdirSync(folder)) {
      try {
        yield readlinkSync(`${folder}/${name}`);
      } catch {
        // Closed meanwhile.
      }
    }
  },
};
