/**
 * Makes the test for texts of a pattern in which each `%` stands for anything, or nothing, as in SQL's LIKE; nothing else in it is
 * special. Its time grows with the length of the text times that of the pattern at worst.
 *
 * @example
 * ```ts
 * percentPattern("SELECT % FROM `orders`%")("SELECT * FROM `orders` WHERE `id` = ?"); // true
 * ```
 */
export function percentPattern(pattern: string): (text: string) => boolean {
  const [head, ...rest] = pattern.split("%") as [string, ...string[]];
  const tail = rest.pop();
  if (tail === undefined) return (text) => text === head;
  const between = rest.filter((part) => part !== "");
  return (text) => {
    if (!text.startsWith(head) || !text.endsWith(tail)) return false;
    const end = text.length - tail.length;
    let at = head.length;
    for (const part of between) {
      const found = text.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return at <= end;
  };
}
