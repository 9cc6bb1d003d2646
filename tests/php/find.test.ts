import { describe, expect, test } from "bun:test";
import { findPhpFpm, type Look, thisMachine } from "../../plugins/php/find.ts";

const banner = (version: string, sapi = "fpm-fcgi") => `PHP ${version} (${sapi}) (built: Nov 18 2026 20:02:04)\n`;

/** A machine with these programs: path to what `-v` prints, or undefined for one that does not run. */
function withPrograms(programs: Record<string, string | undefined>, osRelease = ""): Look {
  return {
    dirs: ["/usr/local/sbin", "/usr/sbin"],
    list: (dir) =>
      Object.keys(programs).filter((path) => path.startsWith(`${dir}/`)).map((path) => path.slice(dir.length + 1)),
    executable: (path) => path in programs,
    version: async (path) => {
      const text = programs[path];
      if (text === undefined) throw new Error("exit 127");
      return text;
    },
    osRelease: () => osRelease,
  };
}

async function failure(work: Promise<unknown>): Promise<{ code: string; message: string }> {
  return await work.then(() => ({ code: "none", message: "" }), (error) => error);
}

describe("findPhpFpm", () => {
  test("finds the one of this machine", async () => {
    const found = await findPhpFpm();
    expect(found.path).toContain("php-fpm");
    expect(found.versionId).toBeGreaterThan(70_000);
  });

  test("takes the newest, and the unversioned name before all", async () => {
    const versioned = {
      "/usr/sbin/php-fpm7.4": banner("7.4.33"),
      "/usr/sbin/php-fpm8.2": banner("8.2.36"),
      "/usr/sbin/php-fpm8.10": banner("8.10.1"),
      "/usr/sbin/php-fpm84": banner("8.4.0RC1"),
      "/usr/sbin/php-fpm.conf": banner("9.0.0"),
    };
    expect(await findPhpFpm(undefined, withPrograms(versioned)))
      .toEqual({ path: "/usr/sbin/php-fpm8.10", version: "8.10.1", versionId: 81_001 });
    const plain = withPrograms({ ...versioned, "/usr/sbin/php-fpm": banner("8.4.7-dev") });
    expect(await findPhpFpm(undefined, plain)).toEqual({
      path: "/usr/sbin/php-fpm",
      version: "8.4.7",
      versionId: 80_407,
    });
  });

  test("takes the name or path given, and passes over one that does not run only when none was given", async () => {
    const look = withPrograms({
      "/usr/local/sbin/php-fpm": undefined,
      "/usr/sbin/php-fpm8.2": banner("8.2.36"),
      "/opt/php": banner("8.1.2"),
      "/usr/sbin/php": banner("8.2.36", "cli"),
    });
    expect((await findPhpFpm(undefined, look)).path).toBe("/usr/sbin/php-fpm8.2");
    expect((await findPhpFpm("php-fpm8.2", look)).path).toBe("/usr/sbin/php-fpm8.2");
    expect((await findPhpFpm("/opt/php", look)).version).toBe("8.1.2");
    expect((await failure(findPhpFpm("php-fpm", look))).code).toBe("PHP_UNUSABLE");
    const cli = await failure(findPhpFpm("php", look));
    expect([cli.code, cli.message]).toEqual([
      "PHP_UNUSABLE",
      "Cannot use /usr/sbin/php: it is PHP's cli, and php-fpm is needed",
    ]);
  });

  test("says which package to install", async () => {
    const packages: Record<string, string> = {
      "ID=debian\n": "apt install php-fpm",
      'ID=linuxmint\nID_LIKE="ubuntu debian"\n': "apt install php-fpm",
      "ID=alpine\n": "apk add php84-fpm",
      'ID="rocky"\nID_LIKE="rhel centos fedora"\n': "dnf install php-fpm",
      'ID="opensuse-leap"\n': "zypper install php8-fpm",
      "": "your system's php-fpm package",
    };
    for (const [osRelease, expected] of Object.entries(packages)) {
      const error = await failure(findPhpFpm(undefined, withPrograms({}, osRelease)));
      expect(error.code).toBe("PHP_NOT_FOUND");
      expect(error.message).toContain(expected);
    }
    expect((await failure(findPhpFpm("/no/such", thisMachine()))).message).toContain("no program /no/such");
  });
});
