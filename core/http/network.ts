/**
 * The network that an address counts for, where clients are counted: who has one address of IPv6 has its whole /64, and could be
 * anybody otherwise. Of IPv4 it is the address.
 *
 * @example
 * ```ts
 * network("2001:db8::1"); // "2001:db8:0:0::/64"
 * ```
 */
export function network(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.toLowerCase().replace(/%.*$/, "").split("::");
  const groups = head === "" ? [] : head.split(":");
  if (tail !== undefined) {
    const end = tail === "" ? 0 : tail.split(":").reduce((sum, group) => sum + (group.includes(".") ? 2 : 1), 0);
    while (groups.length < 8 - end && groups.length < 4) groups.push("0");
    groups.push(...tail.split(":"));
  }
  return `${groups.slice(0, 4).map((group) => group.replace(/^0+(?=.)/, "")).join(":")}::/64`;
}
