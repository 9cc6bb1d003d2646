/** What ends a transaction, or gives back a lock, and nothing else. */
const ends =
  /^(?:BEGIN|START TRANSACTION|COMMIT|ROLLBACK|SAVEPOINT|RELEASE SAVEPOINT|XA|UNLOCK|BACKUP UNLOCK|USE|KILL|DEALLOCATE)\b[^;]*$/;
/**
 * `SET autocommit` may end one, too; SET STATEMENT, whatever its variable is called (`timestamp` is a keyword and not quoted), and what
 * calls or selects something, can be any work.
 */
const settings = /^SET (?!`statement`)[^;(]*$/i;
const unlocks = /^(?:SELECT|DO) `release_(?:lock` \(\?\)|all_locks` \( \))(?: AS `[^`]*`)?$/i;

/**
 * Whether no cap holds up a statement, by its normalised text: one that ends a transaction or gives back a lock, for those who run may
 * wait for just that, and one of the session's own settings, which is over at once.
 */
export function neverCapped(text: string): boolean {
  return ends.test(text) || settings.test(text) || unlocks.test(text);
}
