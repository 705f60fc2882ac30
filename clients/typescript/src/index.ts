export { Client, type ClientOptions } from "./client.js";
export { DecisionVerifier, InvalidDecision, type ExpectedDecision, type SignedDecision } from "./decisions.js";
export { ApiError, type FieldError } from "./errors.js";
export { expressGate, type ExpressOptions, type ExpressRequest, type ExpressResponse } from "./express.js";
export { gate, type GateOptions, type Verdict, type Visit } from "./middleware.js";
export type { Query } from "./protocol.js";
export { getResponse, type RateLimit, ResponseInfo } from "./responses.js";
export type { Schemas } from "./schema.js";
export { InvalidSignature, verify } from "./webhooks.js";
