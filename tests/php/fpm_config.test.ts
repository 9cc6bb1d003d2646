import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findPhpFpm } from "../../plugins/php/find.ts";
import { type FpmConfig, type Ini, quoteIni, renderFpmConfig, startupOptions } from "../../plugins/php/fpm_config.ts";

const base: FpmConfig = { pool: "www", listen: "/run/x/fpm.sock", children: 3 };

/** Reads one quoted value as PHP's parser does: pieces in quotes, side by side, nothing else. */
function unquote(quoted: string): string {
  let text = "";
  const rest = quoted.replace(/'([^']*)'|"('*)"/gy, (_all, plain, quotes) => {
    text += plain ?? quotes;
    return "";
  });
  if (rest !== "") throw new Error(`not all quoted: ${quoted}`);
  return text;
}

/** The settings of a configuration, by section; fails on any line that is not one. */
function parse(text: string): Record<string, Record<string, string>> {
  const sections: Record<string, Record<string, string>> = {};
  let section: Record<string, string> = {};
  for (const line of text.split(/[\n\r]/).slice(0, -1)) {
    const [, name, key, value] = /^(?:\[(\w+)\]|([a-z_.]+(?:\[[\w.-]+\])?) = (.*))$/s.exec(line) ?? [];
    if (name !== undefined) section = sections[name] = {};
    else if (key !== undefined && value !== undefined && !(key in section)) section[key] = value;
    else throw new Error(`not a setting: ${JSON.stringify(line)}`);
  }
  return sections;
}

const refusal = (config: Partial<FpmConfig>): string => {
  try {
    renderFpmConfig({ ...base, ...config });
    return "none";
  } catch (error) {
    return (error as { code: string }).code;
  }
};

describe("renderFpmConfig", () => {
  test("a clear environment leaves what is named, and a name that is none is refused", () => {
    const text = renderFpmConfig({ pool: "www", listen: "/run/x.sock", children: 1, keptEnv: ["APP_ENV", "B"] });
    expect(text).toContain("\nclear_env = yes\nenv[APP_ENV] = $APP_ENV\nenv[B] = $B\n");
    for (const name of ["A B", "", "1A", "A]\nuser = root\nenv[B"]) {
      expect(() => renderFpmConfig({ pool: "www", listen: "/run/x.sock", children: 1, keptEnv: [name] })).toThrow(
        "name of letters",
      );
    }
  });

  test("makes a private static pool with production settings", () => {
    const { global, www } = parse(renderFpmConfig({ ...base, statusListen: "/run/x/st.sock", terminateTimeoutS: 90 }));
    expect(global).toEqual({
      "daemonize": "no",
      "error_log": "/dev/null",
      "log_level": "notice",
      "log_limit": "65535",
      "process_control_timeout": "86400s",
    });
    expect(www).toEqual({
      "listen": "'/run/x/fpm.sock'",
      "listen.mode": "0600",
      "pm": "static",
      "pm.max_children": "3",
      "pm.max_requests": "0",
      "pm.status_listen": "'/run/x/st.sock'",
      "pm.status_path": "/status",
      "clear_env": "no",
      "catch_workers_output": "no",
      "decorate_workers_output": "yes",
      "security.limit_extensions": ".php",
      "request_terminate_timeout": "90s",
      "php_value[display_errors]": "'0'",
      "php_value[display_startup_errors]": "'0'",
      "php_value[log_errors]": "'1'",
      "php_value[expose_php]": "'0'",
      "php_value[html_errors]": "'0'",
    });
  });

  test("lets the site's settings win, and takes user and group", () => {
    const { www } = parse(renderFpmConfig({
      ...base,
      user: "app",
      group: "web",
      ini: { display_errors: true, memory_limit: "512M", max_execution_time: 30, log_errors: false },
      adminIni: { log_errors: "1", open_basedir: "" },
    }));
    expect(www?.["php_value[display_errors]"]).toBe("'1'");
    expect(www?.["php_value[memory_limit]"]).toBe("'512M'");
    expect(www?.["php_value[max_execution_time]"]).toBe("'30'");
    expect(www?.["php_value[log_errors]"]).toBe(undefined);
    expect(www?.["php_admin_value[log_errors]"]).toBe("'1'");
    expect(www?.["php_admin_value[open_basedir]"]).toBe('""');
    expect([www?.["user"], www?.["group"]]).toEqual(["'app'", "'web'"]);
  });

  test("puts on the command line what is read before any pool", () => {
    const config = {
      ini: { "opcache.memory_consumption": 256, "extension": "a'b", "opcache.enable": false, "precision": 3 },
    };
    expect(startupOptions(config)).toEqual([
      "-d",
      "opcache.enable='0'",
      "-d",
      "opcache.memory_consumption='256'",
      "-d",
      `extension='a'"'"'b'`,
    ]);
    expect(renderFpmConfig({ ...base, ...config })).not.toContain("opcache");
  });

  test("refuses what php-fpm would read as something else", () => {
    const values = ["a\nb", "a\r\nextension = x", "a\0b", "x $pool y"];
    for (const value of values) expect([value, refusal({ ini: { user_agent: value } })]).toEqual([value, "PHP_CONFIG"]);
    for (const name of ["", "a b", "a]", "a\n", "a=b", "[x", "a]=1\nuser", "é"]) {
      expect([name, refusal({ adminIni: { [name]: "1" } })]).toEqual([name, "PHP_CONFIG"]);
    }
    for (const pool of ["", "a]", "a\nb", "global", "a b"]) {
      expect([pool, refusal({ pool })]).toEqual([pool, "PHP_CONFIG"]);
    }
    for (const children of [0, -1, 1.5, NaN]) {
      expect([children, refusal({ children })]).toEqual([children, "PHP_CONFIG"]);
    }
    expect(refusal({ user: "x\nlisten = y" })).toBe("PHP_CONFIG");
    expect(refusal({ ini: { user_agent: "$poo" } })).toBe("none");
  });

  test("whatever the values, adds the settings asked for and no other", () => {
    const good = fc.constantFrom("memory_limit", "user_agent", "a.b-c", "constructor", "toString", "x");
    const name = fc.oneof({ weight: 30, arbitrary: good }, fc.string(), fc.constant("x]\nuser"));
    const hard = fc.constantFrom("'", '"', ";", "#", "\\", "${HOME}", "[www]", "user = root", "=", "\u2028", "$", "no");
    const broken = fc.constantFrom("\n", "\r", "\0", "$pool", "\nuser = root");
    const text = fc.array(fc.oneof({ weight: 30, arbitrary: hard }, broken)).map((parts) => parts.join(""));
    const value = fc.oneof(fc.string(), text, fc.integer(), fc.boolean());
    let written = 0;
    fc.assert(
      fc.property(fc.dictionary(name, value), fc.dictionary(name, value), (ini, adminIni) => {
        let text: string;
        try {
          text = renderFpmConfig({ ...base, ini, adminIni });
        } catch (error) {
          expect((error as { code: string }).code).toBe("PHP_CONFIG");
          return;
        }
        written++;
        const { www, global, ...others } = parse(text);
        expect(others).toEqual({});
        expect(Object.keys(global ?? {}).length).toBe(5);
        const plain = parse(renderFpmConfig(base))["www"] ?? {};
        const expected: Record<string, string> = {};
        const put = (kind: string, from: Ini) => {
          for (const [key, one] of Object.entries(from)) {
            expected[`${kind}[${key}]`] = typeof one === "boolean" ? (one ? "1" : "0") : String(one);
          }
        };
        put("php_value", Object.fromEntries(Object.entries(ini).filter(([key]) => !Object.hasOwn(adminIni, key))));
        put("php_admin_value", adminIni);
        for (const [key, quoted] of Object.entries(www ?? {})) {
          if (Object.hasOwn(expected, key)) expect(unquote(quoted)).toBe(expected[key] ?? "");
          else expect(plain[key]).toBe(quoted);
          delete expected[key];
        }
        expect(expected).toEqual({});
      }),
      { numRuns: 1000 },
    );
    expect(written).toBeGreaterThan(200);
  });

  test("quotes so that the text comes back", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
      if (/[\0\r\n]/.test(text)) return;
      expect(unquote(quoteIni(text, "x"))).toBe(text);
    }));
  });
});

describe("php-fpm -t", () => {
  let dir: string;
  beforeAll(() => void (dir = mkdtempSync(join(tmpdir(), "fairlead-conf-"))));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  test("takes a nasty sample", async () => {
    const nasty = `'"\\;#=[x]{}()!|&~^ \${HOME} $\{x\} \\' é ' `;
    const ini = Object.fromEntries(
      ["user_agent", "default_mimetype", "sendmail_path"].map((name) => [name, nasty + name]),
    );
    const file = join(dir, "fpm.conf");
    writeFileSync(
      file,
      renderFpmConfig({
        ...base,
        listen: join(dir, "s"),
        user: "nobody",
        statusListen: join(dir, "t"),
        ini,
        adminIni: { from: nasty },
      }),
    );
    const { path } = await findPhpFpm();
    const said = await new Promise<string>((done) =>
      execFile(
        path,
        ["-t", "-y", file, ...startupOptions({ ini: { "opcache.preferred_memory_model": nasty } })],
        (error, _out, err) => done(`${error?.code ?? 0} ${err}`),
      )
    );
    expect(said).toMatch(/^0 .*test is successful/);
  });
});
