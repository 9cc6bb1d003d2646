/** Most chunks looked at; a runtime may cut a body in memory into several. */
const chunks = 8;
/** Turns of the microtask queue a chunk that lies in memory may take, with room to spare. */
const turns = 24;

/**
 * Whether the body of `response` lies in memory to its end, so that nobody works on it any more; no body is whole too.
 * Looks at a clone, never at `response.body`: the response itself stays as it was made, with the length, the type and the
 * quick way out that its runtime knows for it. A stream is asked for a few chunks at most, which wait for its reader, and is
 * waited for no longer than microtasks take.
 *
 * @throws TypeError when the body has been read already
 */
export async function isWhole(response: Response): Promise<boolean> {
  const body = response.clone().body;
  if (body === null) return true;
  const reader = body.getReader();
  for (let i = 0; i < chunks; i++) {
    let end: boolean | undefined;
    reader.read().then(({ done }) => end = done, () => end = false);
    for (let turn = 0; turn < turns && end === undefined; turn++) await undefined;
    if (end === true) return true;
    if (end === undefined) break;
  }
  // Settles when the response's own body has been cancelled too, or rejects with what that fails with: of no interest here.
  reader.cancel().catch(() => {});
  return false;
}
