import type { Schemas } from "./schema.js";

/** One of several faults of a body. */
export interface FieldError {
  code: string;
  message: string;
  param?: string;
  kind?: Schemas["ErrorDetail"]["kind"];
}

/** A refusal. Branch on `code`; `message` is for people; `requestId` names the request in the service's log. */
export class ApiError extends Error {
  override name = "ApiError";
  readonly code: string;
  readonly type: string;
  readonly param?: string;
  readonly kind?: FieldError["kind"];
  /** The documentation of `code`; may be relative to the service's address. */
  readonly docUrl?: string;
  readonly retryAfter?: number;
  readonly errors: FieldError[];

  constructor(
    readonly status: number,
    told: Partial<Schemas["ErrorDetail"]> & { errors?: FieldError[] },
    readonly requestId: string | null,
  ) {
    super(told.message ?? `The reply has the status ${status}, and is not one of the service's.`);
    this.code = told.code ?? "unreadable_reply";
    this.type = told.type ?? "api_error";
    this.param = told.param;
    this.kind = told.kind;
    this.docUrl = told.docUrl;
    this.retryAfter = told.retryAfter;
    this.errors = told.errors ?? [];
  }
}
