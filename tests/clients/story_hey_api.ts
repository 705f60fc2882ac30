// The README's story by the client of @hey-api/openapi-ts.
import { client } from "./generated/client.gen";
import * as api from "./generated/sdk.gen";
import type { Rule } from "./generated/types.gen";

const [baseUrl, auth] = process.argv.slice(2);
client.setConfig({ baseUrl, auth, throwOnError: true });
const throwOnError = true as const;

const { data: item } = await api.createContent({ throwOnError, body: { title: "Markets", externalId: "my-first" } });
const { data: policy } = await api.createPolicy({
  throwOnError,
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
});
const path = { id: policy.id };
const { data: read } = await api.getPolicy({ throwOnError, path });
const rules = read.rules as Rule[]; // only replies may have values that are not known yet
const { data: again } = await api.updatePolicy({ throwOnError, path, body: { name: "Licensed", rules } });
await api.updateContent({ throwOnError, path: { id: item.id }, body: { policyId: policy.id } });

const check = { externalId: "my-first", permission: "commercial_use", context: { ip: "203.0.113.9" } };
const { data: denied } = await api.checkAccess({ throwOnError, body: { ...check, requester: "org_acme" } });
const vouched = { id: "org_acme", licenseType: "commercial", hasValidLicense: true };
const { data: allowed } = await api.checkAccess({ throwOnError, body: { ...check, requester: vouched } });
const pricePerAccess = { amount: 0.05, currency: "USD" } as const;
const licence = { requesterId: "org_globex", licenseType: "commercial", pricePerAccess };
await api.createLicense({ throwOnError, body: licence });
const { data: charged } = await api.checkAccess({ throwOnError, body: { ...check, requester: { id: "org_globex" } } });
const { data: report } = await api.getRevenueReport({ throwOnError, query: { period: "7d" } });

const { data: found } = await api.listContent({ throwOnError, query: { "type[in]": ["article", "report"], limit: 20 } });
const { data: file } = await api.listDecisions({ throwOnError, query: { format: "csv" }, parseAs: "text" });
const missing = await api.getContent({ throwOnError: false, path: { id: "cnt_unknown" } });
const saw = {
  rules: again.rules, // as they were read and written back
  denied: [denied.allowed, denied.reason],
  allowed: [allowed.allowed, allowed.permissions],
  charge: charged.charge,
  total: report.summary.total,
  found: found.data.map((one) => one.title),
  file: String(file).trim().split("\n").length,
  missing: missing.error?.error.code,
};
console.log(JSON.stringify(saw));
