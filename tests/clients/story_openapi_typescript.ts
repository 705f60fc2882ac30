// The README's story by openapi-fetch with the types of openapi-typescript.
import createClient from "openapi-fetch";
import type { components, paths } from "./generated.js";

const [baseUrl, apiKey] = process.argv.slice(2);
const client = createClient<paths, "application/json">({ baseUrl, headers: { Authorization: `Bearer ${apiKey}` } });

function got<T>(reply: { data?: T; error?: unknown }): T {
  if (reply.data === undefined) throw new Error(JSON.stringify(reply.error));
  return reply.data;
}

const item = got(await client.POST("/v1/content", { body: { title: "Markets", externalId: "my-first" } }));
const policy = got(
  await client.POST("/v1/policies", {
    body: {
      name: "Licensed only",
      rules: [
        {
        action: "allow",
        priority: 1,
        conditions: { licenseType: ["commercial"], hasValidLicense: true },
        permissions: ["full_access"],
      },
        { action: "deny", priority: 99, conditions: { default: true }, message: "Buy a licence." },
      ],
    },
  }),
);
const byId = { params: { path: { id: policy.id } } };
const read = got(await client.GET("/v1/policies/{id}", byId));
const rules = read.rules as components["schemas"]["Rule"][]; // only replies may have values that are not known yet
const again = got(await client.PATCH("/v1/policies/{id}", { ...byId, body: { name: "Licensed", rules } }));
got(await client.PATCH("/v1/content/{id}", { params: { path: { id: item.id } }, body: { policyId: policy.id } }));

const check = { externalId: "my-first", permission: "commercial_use", context: { ip: "203.0.113.9" } };
const denied = got(await client.POST("/v1/access/check", { body: { ...check, requester: "org_acme" } }));
const vouched = { id: "org_acme", licenseType: "commercial", hasValidLicense: true };
const allowed = got(await client.POST("/v1/access/check", { body: { ...check, requester: vouched, dryRun: false } }));
const pricePerAccess = { amount: 0.05, currency: "USD" } as const;
const licence = { requesterId: "org_globex", licenseType: "commercial", pricePerAccess };
got(await client.POST("/v1/licenses", { body: licence }));
const charged = got(await client.POST("/v1/access/check", { body: { ...check, requester: { id: "org_globex" } } }));
const report = got(await client.GET("/v1/analytics/revenue", { params: { query: { period: "7d" } } }));

const found = got(
  await client.GET("/v1/content", { params: { query: { "type[in]": ["article", "report"], limit: 20 } } }),
);
const file = await client.GET("/v1/access/decisions", { params: { query: { format: "csv" } }, parseAs: "text" });
const missing = await client.GET("/v1/content/{id}", { params: { path: { id: "cnt_unknown" } } });
const saw = {
  rules: again.rules, // as they were read and written back
  denied: [denied.allowed, denied.reason],
  allowed: [allowed.allowed, allowed.permissions],
  charge: charged.charge,
  total: report.summary.total,
  found: found.data.map((one) => one.title),
  file: String(file.data).trim().split("\n").length,
  missing: missing.error?.error.code,
};
console.log(JSON.stringify(saw));
