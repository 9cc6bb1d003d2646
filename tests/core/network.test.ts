import { expect, test } from "bun:test";
import { network } from "../../core/http/network.ts";

test("an address of IPv6 counts for its /64, however it is written, and one of IPv4 for itself", () => {
  const same = [
    "2001:db8::1",
    "2001:DB8:0:0::2",
    "2001:0db8:0:0:ffff:1:2:3",
    "2001:db8:0:0:0:0:1.2.3.4",
    "2001:db8::1%eth0",
  ];
  expect(new Set(same.map(network))).toEqual(new Set(["2001:db8:0:0::/64"]));
  expect(network("2001:db8:0:1::1")).toBe("2001:db8:0:1::/64");
  expect([network("::1"), network("192.0.2.7"), network("")]).toEqual(["0:0:0:0::/64", "192.0.2.7", ""]);
});
