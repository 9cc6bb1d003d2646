import { describe, expect, test } from "bun:test";
import { deniedFolders, deniesAll } from "../../plugins/static/htaccess.ts";
import { tree } from "./support.ts";

describe("deniesAll", () => {
  test("knows both ways to say it, whatever module is asked for", () => {
    const texts = [
      "Require all denied",
      "order allow,deny\r\n\tdeny from all\r\n",
      "<IfModule mod_authz_core.c>\nRequire all denied\n</IfModule>\n<IfModule !mod_authz_core.c>\nDeny from all\n</IfModule>",
      "<IfVersion >= 2.4>\nRequire all denied\n</IfVersion>",
      '<FilesMatch "x">\nRequire all granted\n</FilesMatch>\nRequire all denied',
    ];
    for (const text of texts) expect([text, deniesAll(text)]).toEqual([text, true]);
  });

  test("is not taken in by what is about less than the folder", () => {
    const texts = [
      "",
      "# Require all denied",
      "Require all granted",
      '<Files "secret.ini">\nRequire all denied\n</Files>',
      '<FilesMatch "\\.php$">\n<IfModule x>\nDeny from all\n</IfModule>\n</FilesMatch>',
      "<Limit PUT>\nDeny from all\n</Limit>",
      "Require all denied-by-nobody",
    ];
    for (const text of texts) expect([text, deniesAll(text)]).toEqual([text, false]);
  });
});

describe("deniedFolders", () => {
  test("finds the outermost folders within its bounds", async () => {
    const { base, root, write, link, remove } = tree();
    try {
      for (const folder of ["a/b/c", "a/b/c/d", ".git", "node_modules/x", "e"]) {
        write(`public/${folder}/.htaccess`, "Require all denied");
      }
      write("public/f/.htaccess/a", "a folder of that name");
      link("public/g", "e");
      expect(await deniedFolders(root)).toEqual(["/e", "/a/b/c"]);
      expect(await deniedFolders(root, { depth: 1 })).toEqual(["/e"]);
      expect(await deniedFolders(root, { folders: 1 })).toEqual([]);
      expect(await deniedFolders(`${base}/none`)).toEqual([]);
      write("public/.htaccess", "Deny from all");
      expect(await deniedFolders(root)).toEqual(["/"]);
    } finally {
      remove();
    }
  });
});
