// Builds the package and puts its tarball into the current folder; prints its name. This folder stays as it is.
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

const built = mkdtempSync(join(tmpdir(), "licensing-"));
const npm = (...words) => execFileSync("npm", words, { cwd: built, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
try {
  const skipped = ["node_modules", "dist"];
  cpSync(import.meta.dirname, built, { recursive: true, filter: (path) => !skipped.includes(basename(path)) });
  npm("ci", "--silent");
  npm("run", "build", "--silent");
  const [{ filename }] = JSON.parse(npm("pack", "--json", "--pack-destination", process.cwd()));
  console.log(`./${filename}`);
} finally {
  rmSync(built, { recursive: true });
}
