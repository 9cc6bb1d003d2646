/** The chunks as one; a single one as it is, without a copy. `length`: of all together, where it is known. */
export function concat(chunks: readonly Uint8Array[], length: number = total(chunks)): Uint8Array {
  if (chunks.length === 1) return chunks[0]!;
  const all = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.byteLength;
  }
  return all;
}

function total(chunks: readonly Uint8Array[]): number {
  let length = 0;
  for (const chunk of chunks) length += chunk.byteLength;
  return length;
}
