const REFETCH = 10_000; // milliseconds at least between two fetches of the keys
const TIMEOUT = 10_000; // milliseconds that a fetch may take
const MAX_AGE = 300_000; // milliseconds: then a key that the service has withdrawn is forgotten

/** The token does not allow the access: it is forged, expired, a denial, or about something else. */
export class InvalidDecision extends Error {
  override name = "InvalidDecision";
}

/** The claims of a token; `permission` is the one that was asked for, null if the check named none. */
export interface SignedDecision {
  iss: string;
  sub: string;
  aud: string;
  jti: string;
  allowed: boolean;
  permission: string | null;
  permissions: string[];
  policyId: string | null;
  iat: number;
  exp: number;
}

/** What a token must allow. `permission` is null if the check named none; a null `requester` may be anybody. */
export interface ExpectedDecision {
  item: string;
  permission: string | null;
  requester: string | null;
}

type Jwk = JsonWebKey & { kid: string };

const bytes = (text: string) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
const json = (text: string) => JSON.parse(new TextDecoder().decode(bytes(text))) as Record<string, unknown>;

/** Verifies the signed decisions of one service. Keep it: it caches the service's keys. `issuer` is the service's base
 * URL, as in the claim `iss`. */
export class DecisionVerifier {
  #issuer: string;
  #fetch: typeof fetch;
  #keys = new Map<unknown, Jwk>();
  #loading?: Promise<void>;
  #fetched = -Infinity;
  #tried = -Infinity;

  constructor(issuer: string, options: { fetch?: typeof fetch } = {}) {
    this.#issuer = issuer.replace(/\/+$/, "");
    this.#fetch = options.fetch ?? ((...asked) => fetch(...asked));
  }

  /** The claims of a token that allows this requester this permission for this item now. Throws InvalidDecision, or the
   * error of the fetch if the keys cannot be fetched. */
  async verify(token: string, expected: ExpectedDecision): Promise<SignedDecision> {
    const [head = "", body = "", signature = "", ...more] = token.split(".");
    let kid: unknown, claims: Partial<SignedDecision>, signed: Uint8Array<ArrayBuffer>;
    try {
      const header = json(head);
      if (more.length || header.alg !== "EdDSA") throw new Error();
      [kid, claims, signed] = [header.kid, json(body), bytes(signature)];
    } catch {
      throw new InvalidDecision("The token is malformed.");
    }
    const { kty, crv, x } = await this.#key(kid);
    const key = await crypto.subtle.importKey("jwk", { kty, crv, x }, { name: "Ed25519" }, false, ["verify"]);
    const text = new TextEncoder().encode(`${head}.${body}`);
    if (!(await crypto.subtle.verify("Ed25519", key, signed, text))) {
      throw new InvalidDecision("The signature does not match.");
    }
    if (typeof claims.exp !== "number" || claims.exp <= Date.now() / 1000) {
      throw new InvalidDecision("The decision has expired.");
    }
    if (claims.iss !== this.#issuer) throw new InvalidDecision("The decision is of another service.");
    if (claims.aud !== expected.item) throw new InvalidDecision("The decision is about another item.");
    if (expected.requester !== null && claims.sub !== expected.requester) {
      throw new InvalidDecision("The decision is about another requester.");
    }
    if (claims.permission !== expected.permission) {
      throw new InvalidDecision("The decision is about another permission.");
    }
    if (claims.allowed !== true) throw new InvalidDecision("The decision is a denial.");
    return claims as SignedDecision;
  }

  async #key(kid: unknown): Promise<Jwk> {
    if (Date.now() - this.#fetched > MAX_AGE || !this.#keys.has(kid)) {
      if (Date.now() - this.#tried > REFETCH) {
        this.#tried = Date.now();
        this.#loading = this.#load();
      }
      await this.#loading; // if it fails, keys that are not old stay
    }
    const key = this.#keys.get(kid);
    if (!key) throw new InvalidDecision("The service has no such key.");
    return key;
  }

  async #load(): Promise<void> {
    const signal = AbortSignal.timeout(TIMEOUT);
    const reply = await this.#fetch(`${this.#issuer}/.well-known/jwks.json`, { signal });
    if (!reply.ok) throw new Error(`The keys cannot be fetched: ${reply.status}`);
    const { keys } = (await reply.json()) as { keys: Jwk[] };
    this.#keys = new Map(keys.filter((one) => one.alg === "EdDSA").map((one) => [one.kid, one]));
    this.#fetched = this.#tried;
  }
}
