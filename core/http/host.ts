const form = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_](?:[A-Za-z0-9_.~-]*))(?::(\d{1,5}))?$/;

/** Whether a `Host` value is one host with an optional port; two joined by a comma are not. */
export function validHost(host: string): boolean {
  if (host.length > 255) return false;
  const m = form.exec(host);
  return m !== null && (m[1] === undefined || Number(m[1]) <= 65_535);
}

/** The host without its port, with the brackets of an IPv6 address kept. */
export function hostName(host: string): string {
  const colon = host.lastIndexOf(":");
  return colon > host.lastIndexOf("]") ? host.slice(0, colon) : host;
}

/** The name a client called, without port and the dot of a whole domain name, in small letters: what every rule by host looks at. */
export function calledHost(host: string): string {
  return hostName(host).toLowerCase().replace(/\.$/, "");
}

/** What stands for this host in a URL: some that are valid no URL can have (`1.2.3.999`, `xn--a`), and HTTP/1.0 needs none. */
export function urlHost(host: string): string {
  return host !== "" && URL.canParse(`http://${host}`) ? host : "localhost";
}
