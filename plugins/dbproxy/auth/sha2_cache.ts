/**
 * `SHA256(SHA256(password))` of users whose password was checked in full: enough for the fast path of
 * caching_sha2_password. Lives as long as the configuration it belongs to.
 */
export class Sha2Cache {
  readonly #hashes = new Map<string, Uint8Array>();

  get(user: string): Uint8Array | undefined {
    return this.#hashes.get(user);
  }

  set(user: string, doubleHash: Uint8Array): void {
    this.#hashes.set(user, doubleHash);
  }

  delete(user: string): void {
    this.#hashes.delete(user);
  }

  clear(): void {
    this.#hashes.clear();
  }
}
