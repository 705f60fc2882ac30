import type { Schemas } from "./schema.js";
import { parsed } from "./protocol.js";

const TOLERANCE = 300; // seconds
const SIGNATURE = /^v1,(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/; // atob throws for anything else

/** The request was not signed with this secret, has been changed, or is old. */
export class InvalidSignature extends Error {
  override name = "InvalidSignature";
}

const bytes = (base64: string) => Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));

/** `Headers`, or what Node has as `request.headers`. */
export type WebhookHeaders = Headers | Record<string, string | string[] | undefined>;

/** The event that a request brings (Standard Webhooks). `body` is the raw text; `secret` is the endpoint's. */
export async function verify(body: string, headers: WebhookHeaders, secret: string): Promise<Schemas["SentEvent"]> {
  const header = reader(headers);
  const moment = header("webhook-timestamp") ?? "";
  if (!/^\d+$/.test(moment) || Math.abs(Date.now() / 1000 - Number(moment)) > TOLERANCE) {
    throw new InvalidSignature("The timestamp is missing or too far from now.");
  }
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", bytes(secret.replace(/^whsec_/, "")), algorithm, false, ["verify"]);
  const signed = new TextEncoder().encode(`${header("webhook-id")}.${moment}.${body}`);
  for (const one of (header("webhook-signature") ?? "").split(" ")) {
    if (SIGNATURE.test(one) && (await crypto.subtle.verify("HMAC", key, bytes(one.slice(3)), signed))) {
      return parsed(body, "SentEvent") as Schemas["SentEvent"];
    }
  }
  throw new InvalidSignature("The signature does not match.");
}

function reader(headers: WebhookHeaders): (name: string) => string | null {
  if (headers instanceof Headers) return (name) => headers.get(name);
  const lines = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value ?? []].flat().join(" ")] as const);
  const plain = new Map(lines);
  return (name) => plain.get(name) ?? null;
}
