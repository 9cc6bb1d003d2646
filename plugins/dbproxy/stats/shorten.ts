/** The first `length` characters of a text, with an ellipsis when that is not all; never half of a surrogate pair. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  const end = /[\ud800-\udbff]/.test(text[length - 1]!) ? length - 1 : length;
  return `${text.slice(0, end)}…`;
}
