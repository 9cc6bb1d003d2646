/** AuthSwitchRequest: the server wants another method, or the same with a new nonce. PHP's driver needs the last NUL. */
export function encodeAuthSwitch(plugin: string, nonce: Uint8Array): Uint8Array {
  const name = new TextEncoder().encode(plugin);
  const out = new Uint8Array(name.byteLength + nonce.byteLength + 3);
  out[0] = 0xfe;
  out.set(name, 1);
  out.set(nonce, name.byteLength + 2);
  return out;
}

export function decodeAuthSwitch(payload: Uint8Array): { readonly plugin: string; readonly nonce: Uint8Array } {
  const end = payload.indexOf(0, 1);
  if (end < 0) return { plugin: new TextDecoder().decode(payload.subarray(1)), nonce: new Uint8Array(0) };
  return {
    plugin: new TextDecoder().decode(payload.subarray(1, end)),
    nonce: payload.slice(end + 1, payload.at(-1) === 0 ? -1 : undefined),
  };
}
