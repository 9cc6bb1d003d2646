import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseUsers } from "../../plugins/site/users.ts";
import { UsersFile } from "../../plugins/site/users_file.ts";

const secret = "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=";

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    const { code, message } = error as Error & { code: string };
    return `${code} ${message}`;
  }
  return "nothing";
}

test("users are read as htpasswd writes them", () => {
  const users = parseUsers(`# staff\r\n\nanna:${secret}\r\n bert:${secret}:since 2026\n`, "users");
  expect([...users.keys()]).toEqual(["anna", "bert"]);
  expect(users.get("bert")!.text).toBe(secret);
});

test("a line that cannot be used is named, and its hash is not", () => {
  const problem = (line: string) => codeOf(() => parseUsers(`anna:${secret}\n${line}\n`, "/etc/users"));
  expect(problem("bert:plaintext")).toBe(
    'SITE_USERS_INVALID /etc/users:2: cannot use the hash of "bert"; make one with "htpasswd -B" (bcrypt, at most cost 16) or "openssl passwd -6"',
  );
  expect(problem("bert")).toContain("/etc/users:2: expected a name");
  expect(problem(`:${secret}`)).toContain("/etc/users:2: expected a name");
  expect(problem(`anna:${secret}`)).toContain('/etc/users:2: "anna" is there twice');
});

test("a file that could not be opened for a moment is read again with the next look, and that is told once", () => {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-users-"));
  try {
    const path = join(dir, "users"), logged: string[] = [];
    writeFileSync(path, `anna:${secret}\nbert:${secret}\n`);
    let now = 0, full = false;
    const read = (file: string) => {
      if (full) throw Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
      return readFileSync(file, "utf8");
    };
    const file = new UsersFile(path, (level) => void logged.push(level), () => now, read);
    writeFileSync(path, `anna:${secret}\n`);
    const names = () => {
      now += 1000;
      return [...file.users.keys()].join(" ");
    };
    full = true;
    expect([names(), names()]).toEqual(["anna bert", "anna bert"]);
    full = false;
    expect([names(), names(), logged]).toEqual(["anna", "anna", ["error", "info"]]);
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test("a file that changes is read again within a second; one that breaks changes nothing", () => {
  const dir = mkdtempSync(join(tmpdir(), "fairlead-users-"));
  try {
    const path = join(dir, "users"), logged: string[] = [];
    expect(codeOf(() => new UsersFile(path, () => {}))).toBe(`SITE_USERS_UNREADABLE Cannot read ${path}: no such file`);
    writeFileSync(path, `anna:${secret}\n`);
    let now = 0;
    const file = new UsersFile(path, (level, message) => void logged.push(`${level} ${message}`), () => now);
    const names = () => [...file.users.keys()].join(" ");
    writeFileSync(path, `anna:${secret}\nbert:${secret}\n`);
    expect(names()).toBe("anna");
    now = 1000;
    expect(names()).toBe("anna bert");
    writeFileSync(path, "broken");
    now = 2000;
    expect(names()).toBe("anna bert");
    expect(codeOf(() => file.reload())).toContain("SITE_USERS_INVALID");
    rmSync(path);
    now = 3000;
    expect(names()).toBe("anna bert");
    writeFileSync(path, `carl:${secret}\n`);
    file.reload();
    expect(names()).toBe("carl");
    expect(logged).toEqual([
      "info users read again",
      "error Cannot read the users again: those who were known stay",
      "error Cannot read the users again: those who were known stay",
    ]);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
