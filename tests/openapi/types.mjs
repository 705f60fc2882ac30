// Makes the types of clients/typescript: `node types.mjs openapi.json schema.ts`. Amounts of money are decimal strings.
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const [source, target] = process.argv.slice(2);
const decimal = ts.factory.createKeywordTypeNode(ts.SyntaxKind.StringKeyword);
const ast = await openapiTS(JSON.parse(await readFile(source, "utf8")), {
  transform: (schema) => (schema.format === "decimal" ? decimal : undefined),
});
await writeFile(target, `// Generated. See tests/clients.\n${astToString(ast)}`);
