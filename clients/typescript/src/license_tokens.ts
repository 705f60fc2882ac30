import { KeyHolder } from "./keys.js";

/** The token does not allow the access: it is forged, expired, of another account, or for other pages. */
export class InvalidLicenseToken extends Error {
  override name = "InvalidLicenseToken";
}

/** The claims of a licence token: `sub` is the requester, `aud` has the URLs of its pages. */
export interface LicenseClaims {
  iss: string;
  sub: string;
  aud: string[];
  iat: number;
  nbf: number;
  exp: number;
  jti: string;
  license_id: string;
  client_id: string;
  account_id: string;
  scope: string;
}

// What one origin reads as another path than the next: `\`, `;`, what is escaped twice, and control characters.
const AMBIGUOUS = /[\\;%?#\x00-\x1f\x7f\ufffd]|\/\/|\/\.\.?(\/|$)/;

/** Verifies the licence tokens of one publisher without asking the service. Keep it: it caches the service's keys.
 * `issuer` is the service's base URL, as in the claim `iss`. `accountId` is the publisher's account (acc_…): all accounts
 * of a service share issuer and keys. */
export class LicenseTokenVerifier {
  #issuer: string;
  #accountId: string;
  #keys: KeyHolder;

  constructor(issuer: string, accountId: string, options: { fetch?: typeof fetch } = {}) {
    this.#issuer = issuer.replace(/\/+$/, "");
    this.#accountId = accountId;
    this.#keys = new KeyHolder(this.#issuer, "ES256", (message) => new InvalidLicenseToken(message), options);
  }

  /** The claims of a token that covers the page now. `url` is the requested URL, unchanged. Licences and clients that
   * have been revoked since are not noticed: only the service knows. Throws InvalidLicenseToken, or the error of the
   * fetch if the keys cannot be fetched. */
  async verify(token: string, url: string): Promise<LicenseClaims> {
    const claims: Partial<LicenseClaims> = await this.#keys.claims(token);
    const now = Date.now() / 1000;
    if (typeof claims.exp !== "number" || claims.exp <= now) throw new InvalidLicenseToken("The token has expired.");
    if (typeof claims.nbf === "number" && claims.nbf > now) throw new InvalidLicenseToken("The token is not valid yet.");
    if (claims.iss !== this.#issuer) throw new InvalidLicenseToken("The token is of another service.");
    if (claims.account_id !== this.#accountId) {
      throw new InvalidLicenseToken("The token is of another account of this service.");
    }
    if (!Array.isArray(claims.aud) || !claims.aud.some((audience) => covers(audience, url))) {
      throw new InvalidLicenseToken("The token is for other pages.");
    }
    return claims as LicenseClaims;
  }
}

/** Whether a URL is an audience or below it. Paths that origins may read in several ways are below none. */
function covers(audience: string, url: string): boolean {
  const own = partsOf(audience);
  const page = partsOf(url);
  if (!own || !page || AMBIGUOUS.test(page.path)) return false;
  const folder = own.path.replace(/\/+$/, "");
  const isBelow = page.path.replace(/\/+$/, "") === folder || page.path.startsWith(`${folder}/`);
  return page.host === own.host && isBelow;
}

/** Host and decoded path of an http(s) URL, which `new URL` would change. */
function partsOf(url: string): { host: string; path: string } | undefined {
  const [, authority, path] = /^https?:\/\/([^/?#\\]+)([^?#]*)/i.exec(url) ?? [];
  try {
    const host = new URL(`https://${authority}`).hostname.replace(/\.$/, "");
    return authority === undefined ? undefined : { host, path: decodeURIComponent(path || "/") };
  } catch {
    return undefined;
  }
}
