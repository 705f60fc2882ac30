// Makes the types of clients/typescript: `node types.mjs openapi.json schema.ts`. Amounts of money are decimal strings.
// Texts with known values are open: editors suggest the known ones, and later versions of the service may add others.
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const [source, target] = process.argv.slice(2);
const { factory, SyntaxKind } = ts;
const text = factory.createKeywordTypeNode(SyntaxKind.StringKeyword);
// `string` alone would swallow the literals beside it.
const anyText = factory.createParenthesizedType(
  factory.createIntersectionTypeNode([text, factory.createTypeLiteralNode([])]),
);

function openText(schema) {
  const known = schema["x-extensible-enum"].map((value) =>
    factory.createLiteralTypeNode(factory.createStringLiteral(value)),
  );
  const empty = schema.type.includes("null") ? [factory.createLiteralTypeNode(factory.createNull())] : [];
  return factory.createUnionTypeNode([...known, anyText, ...empty]);
}

const ast = await openapiTS(JSON.parse(await readFile(source, "utf8")), {
  transform: (schema) => {
    if (schema.format === "decimal") return text;
    if (schema["x-extensible-enum"] && [schema.type].flat().includes("string")) return openText(schema);
    return undefined;
  },
});
await writeFile(target, `// Generated. See tests/clients.\n${astToString(ast)}`);
