import { KeyHolder } from "./keys.js";

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

/** Verifies the signed decisions of one service. Keep it: it caches the service's keys. `issuer` is the service's base
 * URL, as in the claim `iss`. */
export class DecisionVerifier {
  #issuer: string;
  #keys: KeyHolder;

  constructor(issuer: string, options: { fetch?: typeof fetch } = {}) {
    this.#issuer = issuer.replace(/\/+$/, "");
    this.#keys = new KeyHolder(this.#issuer, "EdDSA", (message) => new InvalidDecision(message), options);
  }

  /** The claims of a token that allows this requester this permission for this item now. Throws InvalidDecision, or the
   * error of the fetch if the keys cannot be fetched. */
  async verify(token: string, expected: ExpectedDecision): Promise<SignedDecision> {
    const claims: Partial<SignedDecision> = await this.#keys.claims(token);
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
}
