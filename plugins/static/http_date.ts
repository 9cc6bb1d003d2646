/** HTTP dates (RFC 9110, 5.6.7): one form to send, three to accept. @module */

const MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";
const TIME = "(\\d\\d):(\\d\\d):(\\d\\d)";
const IMF = new RegExp(`^[A-Z][a-z]{2}, (\\d\\d) ([A-Z][a-z]{2}) (\\d{4}) ${TIME} GMT$`);
const RFC850 = new RegExp(`^[A-Z][a-z]{5,8}, (\\d\\d)-([A-Z][a-z]{2})-(\\d\\d) ${TIME} GMT$`);
const ASCTIME = new RegExp(`^[A-Z][a-z]{2} ([A-Z][a-z]{2}) ([ \\d]\\d) ${TIME} (\\d{4})$`);

function utc(day: string, month: string, year: number, h: string, m: string, s: string): number | undefined {
  const index = MONTHS.indexOf(month);
  if (index < 0 || index % 3 !== 0 || Number(h) > 23 || Number(m) > 59 || Number(s) > 60) return undefined;
  const ms = Date.UTC(year, index / 3, Number(day), Number(h), Number(m), Number(s));
  return new Date(ms - Number(s) * 1000).getUTCDate() === Number(day) ? ms : undefined;
}

/** Milliseconds since 1970, or undefined for what is no HTTP date (and is then to be ignored). */
export function parseHttpDate(text: string, now: number): number | undefined {
  let m = IMF.exec(text) as string[] | null;
  if (m) return utc(m[1]!, m[2]!, Number(m[3]), m[4]!, m[5]!, m[6]!);
  m = RFC850.exec(text);
  if (m) {
    // Two digits: the most recent year that is not more than 50 years ahead.
    const current = new Date(now).getUTCFullYear();
    let year = current - (current % 100) + Number(m[3]);
    if (year > current + 50) year -= 100;
    return utc(m[1]!, m[2]!, year, m[4]!, m[5]!, m[6]!);
  }
  m = ASCTIME.exec(text);
  return m ? utc(m[2]!, m[1]!, Number(m[6]), m[3]!, m[4]!, m[5]!) : undefined;
}

/** The form to send. */
export function formatHttpDate(ms: number): string {
  return new Date(ms).toUTCString();
}
