import type { Client } from "./client.js";
import { ApiError } from "./errors.js";

const STATUSES: Record<string, number> = { no_license: 402, license_expired: 402, rate_limit_exceeded: 429 };
const MOST_ANSWERS = 10_000;

export interface GateOptions {
  client: Client;
  /** Who asks; undefined: nobody is asked about. */
  requester: (request: Request) => string | undefined | Promise<string | undefined>;
  /** What becomes of pages that the service does not know. */
  unknown?: "allow" | "deny";
}

/**
 * What refuses a request, or undefined where it may go on: for Next (`middleware.ts`), Cloudflare Workers, and whatever
 * else has `Request` and `Response`. Answers are kept as long as the service allows. Where it cannot be asked, the
 * answer is a 503: a failure never allows access.
 */
export function gate({ client, requester, unknown = "allow" }: GateOptions) {
  const kept = new Map<string, { until: number; refusal?: [number, string] }>();
  const refused = (refusal?: [number, string]) => refusal && new Response(refusal[1], { status: refusal[0] });

  return async (request: Request): Promise<Response | undefined> => {
    const who = await requester(request);
    if (who === undefined) return undefined;
    const asked = `${who} ${request.url}`;
    const known = kept.get(asked);
    if (known && known.until > Date.now()) return refused(known.refusal);
    const userAgent = request.headers.get("user-agent")?.slice(0, 1000);
    try {
      const decision = await client.checkAccess({ source: request.url, requester: who, context: { userAgent } });
      const reason = decision.reason ?? "";
      const refusal: [number, string] | undefined = decision.allowed
        ? undefined
        : [STATUSES[reason] ?? 403, decision.message ?? reason];
      if (decision.cacheFor > 0) {
        if (kept.size >= MOST_ANSWERS) kept.clear();
        kept.set(asked, { until: Date.now() + decision.cacheFor * 1000, refusal });
      }
      return refused(refusal);
    } catch (error) {
      // A 404 of something before the service says nothing about the page.
      if (!(error instanceof ApiError && error.code === "resource_not_found")) {
        return refused([503, "The licence cannot be checked at the moment."]);
      }
      return unknown === "allow" ? undefined : refused([403, "This page is not licensed."]);
    }
  };
}
