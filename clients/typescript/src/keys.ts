const REFETCH = 10_000; // milliseconds at least between two fetches of the keys
const TIMEOUT = 10_000; // milliseconds that a fetch may take
const MAX_AGE = 300_000; // milliseconds: then a key that the service has withdrawn is forgotten

export type Jwk = JsonWebKey & { kid: string };
export type Algorithm = "EdDSA" | "ES256";

const IMPORT = { EdDSA: { name: "Ed25519" }, ES256: { name: "ECDSA", namedCurve: "P-256" } };
const VERIFY = { EdDSA: { name: "Ed25519" }, ES256: { name: "ECDSA", hash: "SHA-256" } };

const bytes = (text: string) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
const json = (text: string) => JSON.parse(new TextDecoder().decode(bytes(text))) as Record<string, unknown>;

/** Verifies the signatures of one service's tokens of one algorithm. It caches the service's keys. */
export class KeyHolder {
  #issuer: string;
  #algorithm: Algorithm;
  #refusal: (message: string) => Error;
  #fetch: typeof fetch;
  #keys = new Map<unknown, Jwk>();
  #loading?: Promise<void>;
  #fetched = -Infinity;
  #tried = -Infinity;

  constructor(issuer: string, algorithm: Algorithm, refusal: (message: string) => Error, options: { fetch?: typeof fetch }) {
    this.#issuer = issuer;
    this.#algorithm = algorithm;
    this.#refusal = refusal;
    this.#fetch = options.fetch ?? ((...asked) => fetch(...asked));
  }

  /** The claims of a token whose signature is valid. Throws the refusal, or the error of the fetch. */
  async claims(token: string): Promise<Record<string, unknown>> {
    const [head = "", body = "", signature = "", ...more] = token.split(".");
    let kid: unknown, claims: Record<string, unknown>, signed: Uint8Array<ArrayBuffer>;
    try {
      const header = json(head);
      if (more.length || header.alg !== this.#algorithm) throw new Error();
      [kid, claims, signed] = [header.kid, json(body), bytes(signature)];
    } catch {
      throw this.#refusal("The token is malformed.");
    }
    const { kty, crv, x, y } = await this.#key(kid);
    const jwk = y === undefined ? { kty, crv, x } : { kty, crv, x, y };
    const key = await crypto.subtle.importKey("jwk", jwk, IMPORT[this.#algorithm], false, ["verify"]);
    const text = new TextEncoder().encode(`${head}.${body}`);
    if (!(await crypto.subtle.verify(VERIFY[this.#algorithm], key, signed, text))) {
      throw this.#refusal("The signature does not match.");
    }
    return claims;
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
    if (!key) throw this.#refusal("The service has no such key.");
    return key;
  }

  async #load(): Promise<void> {
    const signal = AbortSignal.timeout(TIMEOUT);
    const reply = await this.#fetch(`${this.#issuer}/.well-known/jwks.json`, { signal });
    if (!reply.ok) throw new Error(`The keys cannot be fetched: ${reply.status}`);
    const { keys } = (await reply.json()) as { keys: Jwk[] };
    this.#keys = new Map(keys.filter((one) => one.alg === this.#algorithm).map((one) => [one.kid, one]));
    this.#fetched = this.#tried;
  }
}
