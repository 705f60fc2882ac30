// Shapes: 49c53216467225fd
// Generated. See tests/clients.
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description Which decisions the endpoint receives; each given list must contain the decision's own value. */
        AccessFilter: {
            /** @description Policies that made the decision. */
            policyIds?: string[];
            /** @description Requesters, by the caller's own ids. */
            requesterIds?: string[];
            /** @description Reasons of denials. Excludes allowed decisions, which have no reason. */
            reasons?: ("content_archived" | "credits_exhausted" | "host_not_allowed" | "license_expired" | "no_license" | "no_policy" | "permission_not_granted" | "policy_denied" | "quota_exceeded" | "rate_limit_exceeded" | (string & {}))[];
        };
        /** @description Which decisions the endpoint receives; each given list must contain the decision's own value. */
        AccessFilterRequest: {
            /** @description Policies that made the decision. */
            policyIds?: string[] | null;
            /** @description Requesters, by the caller's own ids. */
            requesterIds?: string[] | null;
            /** @description Reasons of denials. Excludes allowed decisions, which have no reason. */
            reasons?: components["schemas"]["Reason"][] | null;
        };
        /** @description The price of access now, and the policy's offers. */
        AccessOffer: {
            /** @description The kind of the object. */
            object: "access_offer" | (string & {});
            /** @description The requested URL. */
            url: string | null;
            /** @description The content item's id. */
            contentId: string;
            /** @description Null: an unknown requester. */
            requesterId: string | null;
            /** @description What the requester wants to do. */
            permission: string | null;
            /** @description Whether the access is allowed without buying anything. */
            allowed: boolean;
            /** @description Why access was denied. */
            reason: ("content_archived" | "credits_exhausted" | "host_not_allowed" | "license_expired" | "no_license" | "no_policy" | "permission_not_granted" | "policy_denied" | "quota_exceeded" | "rate_limit_exceeded" | (string & {})) | null;
            /** @description The price under the requester's licence; null if free. */
            charge: components["schemas"]["ChargeShown"] | null;
            /** @description The policy's id. */
            policyId: string | null;
            /** @description The version of the policy that decided. */
            policyVersion: number | null;
            /** @description In the order of the rules; the edge asks for the first. */
            offers: components["schemas"]["Offer"][];
            /** @description The wallet that would pay, or that cannot cover the access. */
            credits?: components["schemas"]["CreditsShown"];
        };
        ActiveRequester: {
            /** @description The requester's id as the caller gives it. */
            id: string;
            /** @description A name for people. */
            name: string | null;
            /** @description How many requests. */
            requests: number;
        };
        /** @enum {string} */
        ActorType: "command" | "key" | "operator" | "system";
        AddressRanges: string[];
        AddressRangesShown: string[];
        /** @description An adjustment to add. */
        AdjustmentRequest: {
            /** @description Not 0. Negative to give money back. */
            amount: string;
            /** @description ISO 4217. */
            currency: components["schemas"]["Currency"];
            /** @description Reports count it on this day and convert it at that day's rate. Default: now. */
            occurredAt?: string | null;
            /** @description The licence's id. */
            licenseId?: string | null;
            /** @description The tier of the licence. */
            licenseType?: string | null;
            /** @description The fee, or other charge without decision and licence, that this adjustment refunds. */
            feeId?: string | null;
            /** @description The decision's id. */
            decisionId?: string | null;
            /** @description The content item's id. */
            contentId?: string | null;
            /** @description The requester's id, as the publisher calls them. */
            requesterId?: string | null;
            /** @description What for. */
            description?: string | null;
            /** @description Your own id of an adjustment. Each id is booked once. */
            externalId?: string | null;
        };
        AllowRule: {
            /**
             * @description What is done: allowed or denied, or in the audit log what was changed. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            action: "allow";
            /** @description Lower ones are tried first; a missing one last. */
            priority?: number;
            conditions: components["schemas"]["Conditions"];
            /** @description Comes with the decision. */
            message?: string;
            /** @description What the rule grants; `full_access` grants all. */
            permissions?: string[];
            rateLimit?: components["schemas"]["RateLimit"];
            /** @description What an access costs whoever holds no licence that the rule allows. */
            pricePerAccess?: {
                /** @description More than 0, at most 1,000,000, with at most six places. */
                amount: string;
                /** @description ISO 4217, such as `EUR`. */
                currency: string;
            };
        };
        /** @description An API key. Its full text, `key`, is only in the reply that creates it. */
        ApiKey: {
            /** @description The resource's id. */
            readonly id: string;
            /**
             * @description The kind of the object.
             * @default api_key
             */
            readonly object: "api_key" | (string & {});
            /** @description A label for people. */
            name: string;
            /** @description `public` keys can only read. */
            type: "secret" | "public" | (string & {});
            /** @description The beginning of the key, to recognise it by. */
            readonly prefix: string;
            /** @description By default `*` for a secret key, `content:read` and `policies:read` for a public one: whoever has that reads every item with its figures, and every policy with the requester ids and addresses in its rules. */
            permissions: ("content:read" | "content:write" | "policies:read" | "policies:write" | "access:check" | "analytics:read" | "webhooks:manage" | "api_keys:manage" | "licenses:read" | "licenses:write" | "revenue:read" | "revenue:write" | "audit:read" | "*" | (string & {}))[];
            /** @description IPv4 or IPv6 addresses, or CIDR ranges without host bits. Empty: any address. Default: the addresses of the key that creates it. */
            allowedIps: string[];
            /** @description Hosts for which the key can be used at the edge; others return 403. Empty: any host. Default: the hosts of the key that creates it. Other endpoints ignore it. */
            allowedHosts: string[];
            /** @description A limit of this key, below the plan's, which applies too. Null: only the plan's. Default: that of the key that creates it. Does not apply at the edge. */
            rateLimit: components["schemas"]["KeyRateLimit"] | null;
            /**
             * Format: date-time
             * @description When the key expires; null for never. Default: the expiry of the key that creates it.
             */
            expiresAt: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            readonly createdAt: string;
            /**
             * Format: date-time
             * @description To the minute; null before the first use.
             */
            readonly lastUsedAt: string | null;
            /**
             * Format: date-time
             * @description When the key was revoked; null if it is not.
             */
            readonly revokedAt: string | null;
        };
        /** @description The result of a row. */
        ApiKeyBulkOutcome: {
            /** @description Index of the row in `items`, from 0. */
            index: number;
            /** @description `201` created, `200` changed, `403` more than the requesting key may give, `422` a fault of the row, `409` a revoked key, or one that an earlier row is about. */
            status: number;
            /** @description Null if the row has an error. */
            apiKey: components["schemas"]["OutcomeKey"] | null;
            /** @description As the row would be answered alone. */
            error: components["schemas"]["ErrorShown"] | null;
        };
        ApiKeyBulkOutcomes: {
            /** @description The items of the list, in order. */
            data: components["schemas"]["ApiKeyBulkOutcome"][];
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description Always false. */
            hasMore: boolean;
            /** @description Number of rows in the request. */
            totalCount: number;
        };
        /** @description Keys to create or change. */
        ApiKeyBulkRequest: {
            /** @description The rows: each a new item or a change of one. */
            items: components["schemas"]["ApiKeyBulkRowRequest"][];
        };
        /** @description A key to create, or changes to the key with this `id`. */
        ApiKeyBulkRowRequest: {
            /** @description The key to change, as by PATCH. */
            id?: string | null;
            /** @description A label for people. Required when creating a key. */
            name?: string;
            /** @description Required when creating a key. `public` keys can only read. */
            type?: components["schemas"]["KeyType"];
            /** @description By default `*` for a secret key, `content:read` and `policies:read` for a public one: whoever has that reads every item with its figures, and every policy with the requester ids and addresses in its rules. */
            permissions?: components["schemas"]["ApiKeyPermission"][] | null;
            /** @description IPv4 or IPv6 addresses, or CIDR ranges without host bits. Empty: any address. Default: the addresses of the key that creates it. */
            allowedIps?: string[] | null;
            /** @description Hosts for which the key can be used at the edge; others return 403. Empty: any host. Default: the hosts of the key that creates it. Other endpoints ignore it. */
            allowedHosts?: string[] | null;
            /** @description A limit of this key, below the plan's, which applies too. Null: only the plan's. Default: that of the key that creates it. Does not apply at the edge. */
            rateLimit?: components["schemas"]["KeyRateLimitRequest"] | null;
            /** @description When the key expires; null for never. Default: the expiry of the key that creates it. */
            expiresAt?: string | null;
        };
        /** @enum {string} */
        ApiKeyPermission: "content:read" | "content:write" | "policies:read" | "policies:write" | "access:check" | "analytics:read" | "webhooks:manage" | "api_keys:manage" | "licenses:read" | "licenses:write" | "revenue:read" | "revenue:write" | "audit:read" | "*";
        /** @description An API key. Its full text, `key`, is only in the reply that creates it. */
        ApiKeyRequest: {
            /** @description A label for people. */
            name: string;
            /** @description `public` keys can only read. */
            type: components["schemas"]["KeyType"];
            /** @description By default `*` for a secret key, `content:read` and `policies:read` for a public one: whoever has that reads every item with its figures, and every policy with the requester ids and addresses in its rules. */
            permissions?: components["schemas"]["ApiKeyPermission"][] | null;
            /** @description IPv4 or IPv6 addresses, or CIDR ranges without host bits. Empty: any address. Default: the addresses of the key that creates it. */
            allowedIps?: string[] | null;
            /** @description Hosts for which the key can be used at the edge; others return 403. Empty: any host. Default: the hosts of the key that creates it. Other endpoints ignore it. */
            allowedHosts?: string[] | null;
            /** @description A limit of this key, below the plan's, which applies too. Null: only the plan's. Default: that of the key that creates it. Does not apply at the edge. */
            rateLimit?: components["schemas"]["KeyRateLimitRequest"] | null;
            /** @description When the key expires; null for never. Default: the expiry of the key that creates it. */
            expiresAt?: string | null;
        };
        AttributeAbsence: {
            /**
             * @description The attribute is unknown.
             * @constant
             */
            exists: false;
        };
        AttributeAbsenceShown: {
            /** @description The attribute is unknown. */
            exists: boolean;
        };
        AttributeComparison: {
            /** @description The attribute is a number and at least this. */
            gte?: number;
            /** @description The attribute is a number and more than this. */
            gt?: number;
            /** @description The attribute is a number and at most this. */
            lte?: number;
            /** @description The attribute is a number and less than this. */
            lt?: number;
            /**
             * @description The attribute is known.
             * @constant
             */
            exists?: true;
        };
        AttributeComparisonShown: {
            /** @description The attribute is a number and at least this. */
            gte?: number;
            /** @description The attribute is a number and more than this. */
            gt?: number;
            /** @description The attribute is a number and at most this. */
            lte?: number;
            /** @description The attribute is a number and less than this. */
            lt?: number;
            /** @description The attribute is known. */
            exists?: boolean;
        };
        AttributeValues: (string | number | boolean)[];
        /** @description A change. Names and titles are those at the time. */
        AuditEntry: {
            /** @description The resource's id. */
            id: string;
            /** @description The kind of the object. */
            object: "audit_entry" | (string & {});
            /** @description Kind of resource and action, for example `content.updated`. */
            action: string;
            /** @description What kind of caller it was. */
            actorType: "command" | "key" | "operator" | "system" | (string & {});
            /** @description A key's id, an operator's number, a command's name; null for the service itself. */
            actorId: string | null;
            /** @description A key's name and prefix, an operator's name, or who ran the command. */
            actorName: string | null;
            /** @description As in `content`, `policy`, `api_key`, `account`. */
            resourceType: string;
            /** @description The id of what was changed. */
            resourceId: string;
            /** @description Title or name of the resource at that time. */
            resourceTitle: string;
            /** @description Of each field that changed its value before and after; null where there was none. */
            changes: {
                [key: string]: unknown[];
            };
            /** @description The `X-Request-Id` of the request that made the change. */
            requestId: string | null;
            /** @description The client's address. */
            address: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created: string;
        };
        /** @description Up to 100 checks. The other fields are defaults for checks that omit them. */
        Batch: {
            /** @description The item by its id, */
            contentId?: string | null;
            /** @description by the publisher's own id, */
            externalId?: string | null;
            /**
             * Format: uri
             * @description or by its URL.
             */
            source?: string | null;
            /** @description The requester: an object, or just the id. */
            requester?: string | components["schemas"]["Requester"] | null;
            /** @description What the requester wants to do. */
            permission?: string | null;
            /** @description From where the requester asks. */
            context?: components["schemas"]["Context"] | null;
            /** @description Decide without recording or counting anything. */
            dryRun?: boolean | null;
            /** @description Add the `trace` of the rules. */
            explain?: boolean | null;
            /** @description Add `token`, the decision as a signed JWS. */
            sign?: boolean | null;
            /** @description With `dryRun`: decides in place of the item's policy. */
            policy?: components["schemas"]["Draft"] | null;
            /** @description The checks, in the order of the reply. */
            checks: components["schemas"]["BatchItem"][];
        };
        BatchItem: {
            /** @description The item by its id, */
            contentId?: string | null;
            /** @description by the publisher's own id, */
            externalId?: string | null;
            /**
             * Format: uri
             * @description or by its URL.
             */
            source?: string | null;
            /** @description The requester: an object, or just the id. */
            requester?: string | components["schemas"]["Requester"] | null;
            /** @description What the requester wants to do. */
            permission?: string | null;
            /** @description From where the requester asks. */
            context?: components["schemas"]["Context"] | null;
            /** @description Decide without recording or counting anything. */
            dryRun?: boolean | null;
            /** @description Add the `trace` of the rules. */
            explain?: boolean | null;
            /** @description Add `token`, the decision as a signed JWS. */
            sign?: boolean | null;
            /** @description With `dryRun`: decides in place of the item's policy. */
            policy?: components["schemas"]["Draft"] | null;
            /** @description Returned with the decision. */
            correlationId?: string | null;
        };
        /** @description A decision of a batch. One that failed has `error`, and otherwise only `object` and `allowed`. */
        BatchedDecision: {
            /** @description The kind of the object. */
            object: "access_decision" | (string & {});
            /** @description Null for a dry run, which leaves no record. */
            id?: string | null;
            /** @description Whether access is allowed; in figures, how many requests were. */
            allowed: boolean;
            /** @description Null if allowed. */
            reason?: ("content_archived" | "credits_exhausted" | "host_not_allowed" | "license_expired" | "no_license" | "no_policy" | "permission_not_granted" | "policy_denied" | "quota_exceeded" | "rate_limit_exceeded" | (string & {})) | null;
            /** @description The rule's. */
            message?: string | null;
            /** @description The content item's id. */
            contentId?: string;
            requester?: components["schemas"]["RequesterShown"];
            /** @description The requested permission, if any. */
            permission?: string | null;
            /** @description What is granted. */
            permissions?: string[];
            /** @description The policy's id. */
            policyId?: string | null;
            /** @description The version of the policy that decided. */
            policyVersion?: number | null;
            /** @description Null for the default action. */
            matchedRule?: components["schemas"]["MatchedRule"] | null;
            /** @description The licence behind the decision; null for none. */
            license?: components["schemas"]["LicenseBehind"] | null;
            /** @description The limit of the rule that matched; null for none. */
            rateLimit?: components["schemas"]["RuleRateLimit"] | null;
            /** @description The price of the access; null if free. */
            charge?: components["schemas"]["ChargeShown"] | null;
            /** @description The wallet that pays, or that cannot cover the access. */
            credits?: components["schemas"]["CreditsShown"];
            /** @description Seconds for which the decision can be cached. 0: check each access. */
            cacheFor?: number;
            /** @description Whether the decision was only rehearsed. */
            dryRun?: boolean;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created?: string;
            /** @description Only for recorded decisions: the requester as given in the check. */
            context?: components["schemas"]["ContextShown"];
            /** @description With `expand=key`: the API key that made the check. Null if there was none. */
            keyId?: string | null;
            /** @description Only for visits to a site: the page, without port and query. */
            url?: string;
            /** @description Only for visits: the site of the host, if any. */
            siteId?: string | null;
            /** @description Only for visits: how the visitor was identified. */
            identifiedBy?: "address" | "api_key" | "license_token" | "nothing" | "reverse_dns" | "signature" | "site" | "user_agent" | (string & {});
            /** @description Only for readers' visits: the host of the page that linked here. */
            referrer?: string | null;
            /** @description Only for visits: whether it was imported from a log, and so never refused or charged. */
            imported?: boolean;
            /** @description The denial, if the decision would have been one. The site or policy only observes. */
            observed?: components["schemas"]["ObservedDenial"];
            /** @description With `sign`: the decision as a compact JWS; `/.well-known/jwks.json` has the keys. */
            token?: string;
            /** @description With `explain`, and for a recorded decision. */
            trace?: components["schemas"]["TraceStep"][];
            /** @description Whether the trace leaves out some of the evaluated rules. */
            traceTruncated?: boolean;
            /** @description The caller's own name for the check. */
            correlationId?: string;
            error?: components["schemas"]["ErrorShown"];
        };
        /** @description An entry of a batch; for an unknown item only `object` and `error`. */
        BatchedOffer: {
            /** @description The kind of the object. */
            object: "access_offer" | (string & {});
            /** @description The requested URL. */
            url?: string | null;
            /** @description The content item's id. */
            contentId?: string;
            /** @description Null: an unknown requester. */
            requesterId?: string | null;
            /** @description What the requester wants to do. */
            permission?: string | null;
            /** @description Whether the access is allowed without buying anything. */
            allowed?: boolean;
            /** @description Why access was denied. */
            reason?: ("content_archived" | "credits_exhausted" | "host_not_allowed" | "license_expired" | "no_license" | "no_policy" | "permission_not_granted" | "policy_denied" | "quota_exceeded" | "rate_limit_exceeded" | (string & {})) | null;
            /** @description The price under the requester's licence; null if free. */
            charge?: components["schemas"]["ChargeShown"] | null;
            /** @description The policy's id. */
            policyId?: string | null;
            /** @description The version of the policy that decided. */
            policyVersion?: number | null;
            /** @description In the order of the rules; the edge asks for the first. */
            offers?: components["schemas"]["Offer"][];
            /** @description The wallet that would pay, or that cannot cover the access. */
            credits?: components["schemas"]["CreditsShown"];
            error?: components["schemas"]["ErrorShown"];
        };
        BookedAmount: {
            /** @description ISO 4217, such as `EUR`. */
            currency: string;
            /**
             * Format: decimal
             * @description As booked: neither converted nor rounded.
             */
            amount: string;
        };
        /** @description The outcome of a row of a bulk request. */
        BulkOutcome: {
            /** @description Index of the row in `items`, from 0. */
            index: number;
            /** @description `201` created, `200` updated, `422` a fault of the row, `409` a conflict with another item. */
            status: number;
            /** @description The item, without `stats`. Null if the row has an error. */
            content: components["schemas"]["Content"] | null;
            /** @description As the row would be answered alone. */
            error: components["schemas"]["ErrorShown"] | null;
        };
        BulkOutcomes: {
            /** @description The items of the list, in order. */
            data: components["schemas"]["BulkOutcome"][];
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description Always false. */
            hasMore: boolean;
            /** @description Number of rows in the request. */
            totalCount: number;
        };
        /** @description The body of a bulk request. */
        BulkRequest: {
            /** @description The rows: each a new item or a change of one. */
            items: components["schemas"]["BulkRowRequest"][];
        };
        /** @description A row of a bulk request: a new item, or changes to the item with this `id` or `externalId`. */
        BulkRowRequest: {
            /** @description The item to change, as by PATCH. */
            id?: string | null;
            /** @description The publisher's own id of the item, unique in the account. */
            externalId?: string | null;
            /** @description Required when creating an item. */
            title?: string;
            /** @description Default: `article`. */
            type?: components["schemas"]["ContentType"];
            /**
             * Format: uri
             * @description The item's URL; of a licence, who vouches for it.
             */
            source?: string | null;
            /** @description The policy's id. */
            policyId?: string | null;
            /**
             * @description Up to 50 further keys of 1–64 characters A-Z, a-z, 0-9, `_`, `.`, `-`.
             * @example {
             *       "author": "Ada Byron",
             *       "publishedAt": "2026-01-31",
             *       "category": "finance",
             *       "wordCount": 1200
             *     }
             */
            metadata?: ({
                /** @description Who made the item. */
                author?: string | null;
                /**
                 * Format: date
                 * @description The day on which the item was published.
                 */
                publishedAt?: string | null;
                /** @description The item's category. */
                category?: string | null;
                /** @description Independent of the item's own `tags`. */
                tags?: string[] | null;
                /** @description How many words the item has. */
                wordCount?: number | null;
            } & {
                [key: string]: string | number | boolean | null;
            }) | null;
            /** @description Free labels. */
            tags?: string[] | null;
            /** @description Default: `active`. Access to an `archived` item is denied. */
            status?: components["schemas"]["ContentStatus"];
        };
        Categories: string[];
        ChangedDecision: {
            /** @description The decision's id. */
            decisionId: string;
            /** @description The content item's id. */
            contentId: string;
            /** @description The requester's id, as the publisher calls them. */
            requesterId: string;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created: string;
            before: components["schemas"]["Verdict"];
            after: components["schemas"]["SimulatedVerdict"];
        };
        ChargeShown: {
            /**
             * Format: decimal
             * @description An exact decimal.
             */
            amount: string;
            /** @description ISO 4217, such as `EUR`. */
            currency: string;
            /**
             * Format: decimal
             * @description Only for a single recorded decision: the refunded amount.
             */
            refunded?: string;
            /**
             * Format: decimal
             * @description Only for a single recorded decision: the amount still refundable.
             */
            refundable?: string;
        };
        /** @description Check whether a requester may access an item. Exactly one of `contentId`, `externalId`, `source` names it. */
        Check: {
            /** @description The item by its id, */
            contentId?: string | null;
            /** @description by the publisher's own id, */
            externalId?: string | null;
            /**
             * Format: uri
             * @description or by its URL.
             */
            source?: string | null;
            /** @description The requester: an object, or just the id. */
            requester: string | components["schemas"]["Requester"];
            /** @description What the requester wants to do. */
            permission?: string | null;
            /** @description From where the requester asks. */
            context?: components["schemas"]["Context"] | null;
            /** @description Decide without recording or counting anything. */
            dryRun?: boolean | null;
            /** @description Add the `trace` of the rules. */
            explain?: boolean | null;
            /** @description Add `token`, the decision as a signed JWS. */
            sign?: boolean | null;
            /** @description With `dryRun`: decides in place of the item's policy. */
            policy?: components["schemas"]["Draft"] | null;
        };
        /**
         * @description All must hold; of several values any. What is not known matches nothing.
         * @example {
         *       "licenseType": [
         *         "commercial",
         *         "enterprise"
         *       ],
         *       "hasValidLicense": true
         *     }
         */
        Conditions: {
            /** @description The requester has a licence of this type, or of one of these types. */
            licenseType?: string | components["schemas"]["LicenseTypes"];
            /** @description The requester has a valid licence; `false`: no valid licence is known. */
            hasValidLicense?: boolean;
            /**
             * @description Always. `true` is the only value, and no other condition may stand beside it.
             * @constant
             */
            default?: true;
            /** @description The requester has this id, or one of these ids. */
            requesterId?: string | components["schemas"]["RequesterIds"];
            /** @description The item has this type, or one of these types. */
            contentType?: components["schemas"]["ContentType"] | components["schemas"]["ContentTypes"];
            /** @description The item has this tag, or one of these tags. */
            tags?: string | components["schemas"]["Tags"];
            /** @description The item is in this category, or in one of these categories. */
            category?: string | components["schemas"]["Categories"];
            /** @description The check asks for this permission. */
            permission?: string | components["schemas"]["Permissions"];
            /** @description The address in the check's `context` is one of these, or in one of these ranges. */
            ip?: string | components["schemas"]["AddressRanges"];
            /** @description The check is before this time. */
            before?: string;
            /** @description The check is at this time or later. */
            after?: string;
            /**
             * @description Each named attribute of the requester has this value or one of these, or lies within these bounds.
             * @example {
             *       "country": [
             *         "DE",
             *         "AT"
             *       ],
             *       "seats": {
             *         "gte": 10
             *       },
             *       "trial": false
             *     }
             */
            attributes?: {
                [key: string]: string | number | boolean | components["schemas"]["AttributeValues"] | components["schemas"]["AttributeComparison"] | components["schemas"]["AttributeAbsence"];
            };
            schedule?: components["schemas"]["Schedule"];
        };
        /**
         * @description All must hold; of several values any. What is not known matches nothing.
         * @example {
         *       "licenseType": [
         *         "commercial",
         *         "enterprise"
         *       ],
         *       "hasValidLicense": true
         *     }
         */
        ConditionsShown: {
            /** @description The requester has a licence of this type, or of one of these types. */
            licenseType?: string | components["schemas"]["LicenseTypes"];
            /** @description The requester has a valid licence; `false`: no valid licence is known. */
            hasValidLicense?: boolean;
            /** @description Always. `true` is the only value, and no other condition may stand beside it. */
            default?: boolean;
            /** @description The requester has this id, or one of these ids. */
            requesterId?: string | components["schemas"]["RequesterIds"];
            /** @description The item has this type, or one of these types. */
            contentType?: ("article" | "report" | "image" | "dataset" | "video" | (string & {})) | components["schemas"]["ContentTypesShown"];
            /** @description The item has this tag, or one of these tags. */
            tags?: string | components["schemas"]["Tags"];
            /** @description The item is in this category, or in one of these categories. */
            category?: string | components["schemas"]["Categories"];
            /** @description The check asks for this permission. */
            permission?: string | components["schemas"]["PermissionsShown"];
            /** @description The address in the check's `context` is one of these, or in one of these ranges. */
            ip?: string | components["schemas"]["AddressRangesShown"];
            /** @description The check is before this time. */
            before?: string;
            /** @description The check is at this time or later. */
            after?: string;
            /**
             * @description Each named attribute of the requester has this value or one of these, or lies within these bounds.
             * @example {
             *       "country": [
             *         "DE",
             *         "AT"
             *       ],
             *       "seats": {
             *         "gte": 10
             *       },
             *       "trial": false
             *     }
             */
            attributes?: {
                [key: string]: string | number | boolean | components["schemas"]["AttributeValues"] | components["schemas"]["AttributeComparisonShown"] | components["schemas"]["AttributeAbsenceShown"];
            };
            schedule?: components["schemas"]["ScheduleShown"];
        };
        /** @description A publisher's content item, as the API shows and accepts it. */
        Content: {
            /** @description The resource's id. */
            readonly id: string;
            /** @description The kind of the object. */
            readonly object: "content" | (string & {});
            /** @description The publisher's own id of the item, unique in the account. */
            externalId: string | null;
            /** @description The item's title. */
            title: string;
            /** @description Default: `article`. */
            type: "article" | "report" | "image" | "dataset" | "video" | (string & {});
            /**
             * Format: uri
             * @description The item's URL; of a licence, who vouches for it.
             */
            source: string | null;
            /** @description The policy's id. */
            policyId: string | null;
            /** @description With `expand=policy`. */
            readonly policy?: components["schemas"]["Policy"] | null;
            /**
             * @description Up to 50 further keys of 1–64 characters A-Z, a-z, 0-9, `_`, `.`, `-`.
             * @example {
             *       "author": "Ada Byron",
             *       "publishedAt": "2026-01-31",
             *       "category": "finance",
             *       "wordCount": 1200
             *     }
             */
            metadata: {
                /** @description Who made the item. */
                author?: string | null;
                /**
                 * Format: date
                 * @description The day on which the item was published.
                 */
                publishedAt?: string | null;
                /** @description The item's category. */
                category?: string | null;
                /** @description Independent of the item's own `tags`. */
                tags?: string[] | null;
                /** @description How many words the item has. */
                wordCount?: number | null;
            } & {
                [key: string]: string | number | boolean | null;
            };
            /** @description Free labels. */
            tags: string[];
            /** @description Default: `active`. Access to an `archived` item is denied. */
            status: "active" | "archived" | (string & {});
            /** @description Only in replies about a single item. */
            readonly stats?: components["schemas"]["Stats"];
            /**
             * Format: date-time
             * @description When it was created.
             */
            readonly created: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            readonly updated: string;
        };
        /** @description The item of a test. */
        ContentOfTest: {
            /** @description Default: `article`. */
            type?: ("article" | "report" | "image" | "dataset" | "video" | (string & {})) | null;
            /** @description Of the item. */
            tags?: string[] | null;
            /** @description The item's category. */
            category?: string | null;
        };
        /** @description The item of a test. */
        ContentOfTestRequest: {
            /** @description Default: `article`. */
            type?: components["schemas"]["ContentType"] | null;
            /** @description Of the item. */
            tags?: string[] | null;
            /** @description The item's category. */
            category?: string | null;
        };
        /** @description A publisher's content item, as the API shows and accepts it. */
        ContentRequest: {
            /** @description The publisher's own id of the item, unique in the account. */
            externalId?: string | null;
            /** @description The item's title. */
            title: string;
            /** @description Default: `article`. */
            type?: components["schemas"]["ContentType"];
            /**
             * Format: uri
             * @description The item's URL; of a licence, who vouches for it.
             */
            source?: string | null;
            /** @description The policy's id. */
            policyId?: string | null;
            /**
             * @description Up to 50 further keys of 1–64 characters A-Z, a-z, 0-9, `_`, `.`, `-`.
             * @example {
             *       "author": "Ada Byron",
             *       "publishedAt": "2026-01-31",
             *       "category": "finance",
             *       "wordCount": 1200
             *     }
             */
            metadata?: ({
                /** @description Who made the item. */
                author?: string | null;
                /**
                 * Format: date
                 * @description The day on which the item was published.
                 */
                publishedAt?: string | null;
                /** @description The item's category. */
                category?: string | null;
                /** @description Independent of the item's own `tags`. */
                tags?: string[] | null;
                /** @description How many words the item has. */
                wordCount?: number | null;
            } & {
                [key: string]: string | number | boolean | null;
            }) | null;
            /** @description Free labels. */
            tags?: string[] | null;
            /** @description Default: `active`. Access to an `archived` item is denied. */
            status?: components["schemas"]["ContentStatus"];
        };
        /** @enum {string} */
        ContentStatus: "active" | "archived";
        /** @enum {string} */
        ContentType: "article" | "report" | "image" | "dataset" | "video";
        ContentTypes: components["schemas"]["ContentType"][];
        ContentTypesShown: ("article" | "report" | "image" | "dataset" | "video" | (string & {}))[];
        Context: {
            /**
             * Format: ip
             * @description The requester's address.
             */
            ip?: string | null;
            /** @description The reader, for rate limits per visitor: a random id, without personal data. Without it such limits count the address. */
            visitorId?: string | null;
            /** @description The requester's program, as it names itself. */
            userAgent?: string | null;
        };
        /** @description The context of a test's request. */
        ContextOfTest: {
            /**
             * Format: ip
             * @description The requester's address.
             */
            ip?: string | null;
            /** @description The reader, for rate limits per visitor: a random id, without personal data. Without it such limits count the address. */
            visitorId?: string | null;
        };
        /** @description The context of a test's request. */
        ContextOfTestRequest: {
            /**
             * Format: ip
             * @description The requester's address.
             */
            ip?: string | null;
            /** @description The reader, for rate limits per visitor: a random id, without personal data. Without it such limits count the address. */
            visitorId?: string | null;
        };
        ContextShown: {
            /**
             * Format: ip
             * @description The requester's address.
             */
            ip?: string;
            /** @description The reader, for rate limits per visitor: a random id, without personal data. Without it such limits count the address. */
            visitorId?: string;
            /** @description The requester's program, as it names itself. */
            userAgent?: string;
        };
        /** @description A known crawler, recognised by its User-Agent and verified by address, reverse DNS or signature. */
        Crawler: {
            /** @description The kind of the object. */
            object: "crawler" | (string & {});
            /** @description A name for people. */
            name: string;
            /** @description The permission that its visits ask for; `other` asks for `read`. */
            crawlerClass: "ai_training" | "ai_input" | "ai_index" | "search" | "archive" | "preview" | "ads" | "other" | (string & {});
            /** @description Who runs it. */
            operator: string;
            /** @description `crawler` collects pages by itself; `fetcher` gets a page because somebody asks for it just then. */
            kind: "crawler" | "fetcher" | (string & {});
            /** @description The token that its User-Agent contains. Null: only robots.txt names it. */
            userAgent: string | null;
            /** @description The token that it obeys in robots.txt. Null: robots.txt cannot name it. */
            robotsToken: string | null;
            /** @description The requester id of its verified visits. */
            requesterId: string;
            /** @description Address ranges of the table and of published lists. */
            addresses: string[];
            /** @description The domains that its addresses have their names in (reverse DNS). */
            hosts: string[];
            /** @description Where the operator publishes the addresses, or how to recognise them. */
            sources: string[];
            /** @description The JSON files in which its operator publishes its addresses. */
            addressLists: string[];
            /** @description The source and date of each fact. */
            evidence: components["schemas"]["Evidence"][];
            /** @description The host that publishes the crawler's signing keys. */
            signatureAgent: string | null;
        };
        /** @description Crawler requests and revenue at the edge, and the readers that crawler operators sent. */
        CrawlerReportShown: {
            /** @description The kind of the object. */
            object: "crawler_report" | (string & {});
            /** @description Null if the report covers all sites. */
            siteId: string | null;
            /**
             * Format: date-time
             * @description The first day or moment of the window.
             */
            startDate: string;
            /**
             * Format: date-time
             * @description Inclusive.
             */
            endDate: string;
            /** @description Whether `revenueAtStake` covers only the newest 10,000 observed denials of crawlers that could pay. */
            truncated: boolean;
            summary: components["schemas"]["CrawlsAndReferrals"];
            /** @description Only days with requests. */
            timeSeries: components["schemas"]["CrawlsOfDay"][];
            /** @description Most requests first. */
            byClass: components["schemas"]["CrawlsOfClass"][];
            /** @description Most requests first. */
            byOperator: components["schemas"]["CrawlsOfOperator"][];
            /** @description Most requests first. */
            byCrawler: components["schemas"]["CrawlsOfCrawler"][];
            /** @description Most readers first. */
            referrers: components["schemas"]["ReferrerShown"][];
        };
        /** @description The table of known crawlers. */
        CrawlerTable: {
            /** @description The kind of the object. */
            object: "crawler_table" | (string & {});
            /**
             * Format: date
             * @description The date of the table.
             */
            date: string;
            /** @description The items of the list, in order. */
            data: components["schemas"]["Crawler"][];
        };
        /** @description Crawler requests and revenue. */
        CrawlsAndReferrals: {
            /** @description How many requests. */
            requests: number;
            /** @description Whether access is allowed; in figures, how many requests were. */
            allowed: number;
            /** @description Would be denied, but allowed because the site only observes. */
            observed: number;
            /** @description How many requests were denied. */
            denied: number;
            /** @description Requests by crawlers with a verified identity. */
            verified: number;
            /** @description Requests for pages that the site's `robotsTxt` disallows for the crawler. */
            violations: number;
            /** @description Charges less refunds, by currency. */
            revenue: components["schemas"]["ChargeShown"][];
            /** @description Prices of observed denials, by currency. */
            revenueAtStake: components["schemas"]["ChargeShown"][];
            /** @description Readers sent by the operator's AI and search services. Without those of open pages, unless the site's `ask` is `everyone`. */
            referrals: number;
            /**
             * Format: double
             * @description `requests` ÷ `referrals`, to two decimals. Too high where readers of open pages are not counted. Null if there were no referrals.
             */
            crawlsPerReferral: number | null;
        };
        /** @description Crawler requests and revenue. */
        CrawlsOfClass: {
            /** @description How many requests. */
            requests: number;
            /** @description Whether access is allowed; in figures, how many requests were. */
            allowed: number;
            /** @description Would be denied, but allowed because the site only observes. */
            observed: number;
            /** @description How many requests were denied. */
            denied: number;
            /** @description Requests by crawlers with a verified identity. */
            verified: number;
            /** @description Requests for pages that the site's `robotsTxt` disallows for the crawler. */
            violations: number;
            /** @description Charges less refunds, by currency. */
            revenue: components["schemas"]["ChargeShown"][];
            /** @description Prices of observed denials, by currency. */
            revenueAtStake: components["schemas"]["ChargeShown"][];
            /** @description What the crawler fetches pages for. */
            crawlerClass: "ai_training" | "ai_input" | "ai_index" | "search" | "archive" | "preview" | "ads" | "other" | (string & {});
        };
        /** @description Crawler requests and revenue. */
        CrawlsOfCrawler: {
            /** @description How many requests. */
            requests: number;
            /** @description Whether access is allowed; in figures, how many requests were. */
            allowed: number;
            /** @description Would be denied, but allowed because the site only observes. */
            observed: number;
            /** @description How many requests were denied. */
            denied: number;
            /** @description Requests by crawlers with a verified identity. */
            verified: number;
            /** @description Requests for pages that the site's `robotsTxt` disallows for the crawler. */
            violations: number;
            /** @description Charges less refunds, by currency. */
            revenue: components["schemas"]["ChargeShown"][];
            /** @description Prices of observed denials, by currency. */
            revenueAtStake: components["schemas"]["ChargeShown"][];
            /** @description A name for people. */
            name: string;
            /** @description Who runs it. */
            operator: string;
            /** @description What the crawler fetches pages for. */
            crawlerClass: "ai_training" | "ai_input" | "ai_index" | "search" | "archive" | "preview" | "ads" | "other" | (string & {});
        };
        /** @description Crawler requests, by outcome. */
        CrawlsOfDay: {
            /** @description How many requests. */
            requests: number;
            /** @description Whether access is allowed; in figures, how many requests were. */
            allowed: number;
            /** @description Would be denied, but allowed because the site only observes. */
            observed: number;
            /** @description How many requests were denied. */
            denied: number;
            /** @description Requests by crawlers with a verified identity. */
            verified: number;
            /** @description Requests for pages that the site's `robotsTxt` disallows for the crawler. */
            violations: number;
            /**
             * Format: date
             * @description A UTC day.
             */
            date: string;
            /** @description The class, operator or crawler, depending on `by`. */
            name: string;
        };
        /** @description Crawler requests and revenue. */
        CrawlsOfOperator: {
            /** @description How many requests. */
            requests: number;
            /** @description Whether access is allowed; in figures, how many requests were. */
            allowed: number;
            /** @description Would be denied, but allowed because the site only observes. */
            observed: number;
            /** @description How many requests were denied. */
            denied: number;
            /** @description Requests by crawlers with a verified identity. */
            verified: number;
            /** @description Requests for pages that the site's `robotsTxt` disallows for the crawler. */
            violations: number;
            /** @description Charges less refunds, by currency. */
            revenue: components["schemas"]["ChargeShown"][];
            /** @description Prices of observed denials, by currency. */
            revenueAtStake: components["schemas"]["ChargeShown"][];
            /** @description Readers sent by the operator's AI and search services. Without those of open pages, unless the site's `ask` is `everyone`. */
            referrals: number;
            /**
             * Format: double
             * @description `requests` ÷ `referrals`, to two decimals. Too high where readers of open pages are not counted. Null if there were no referrals.
             */
            crawlsPerReferral: number | null;
            /** @description Who runs it. */
            operator: string;
        };
        /** @description An API key. Its full text, `key`, is only in the reply that creates it. */
        CreatedApiKey: {
            /** @description The resource's id. */
            readonly id: string;
            /**
             * @description The kind of the object.
             * @default api_key
             */
            readonly object: "api_key" | (string & {});
            /** @description A label for people. */
            name: string;
            /** @description `public` keys can only read. */
            type: "secret" | "public" | (string & {});
            /** @description The beginning of the key, to recognise it by. */
            readonly prefix: string;
            /** @description By default `*` for a secret key, `content:read` and `policies:read` for a public one: whoever has that reads every item with its figures, and every policy with the requester ids and addresses in its rules. */
            permissions: ("content:read" | "content:write" | "policies:read" | "policies:write" | "access:check" | "analytics:read" | "webhooks:manage" | "api_keys:manage" | "licenses:read" | "licenses:write" | "revenue:read" | "revenue:write" | "audit:read" | "*" | (string & {}))[];
            /** @description IPv4 or IPv6 addresses, or CIDR ranges without host bits. Empty: any address. Default: the addresses of the key that creates it. */
            allowedIps: string[];
            /** @description Hosts for which the key can be used at the edge; others return 403. Empty: any host. Default: the hosts of the key that creates it. Other endpoints ignore it. */
            allowedHosts: string[];
            /** @description A limit of this key, below the plan's, which applies too. Null: only the plan's. Default: that of the key that creates it. Does not apply at the edge. */
            rateLimit: components["schemas"]["KeyRateLimit"] | null;
            /**
             * Format: date-time
             * @description When the key expires; null for never. Default: the expiry of the key that creates it.
             */
            expiresAt: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            readonly createdAt: string;
            /**
             * Format: date-time
             * @description To the minute; null before the first use.
             */
            readonly lastUsedAt: string | null;
            /**
             * Format: date-time
             * @description When the key was revoked; null if it is not.
             */
            readonly revokedAt: string | null;
            /** @description The full key. Shown only in this reply. */
            readonly key: string;
        };
        /** @description Whether a wallet could pay an amount now. */
        CreditAccess: {
            /** @description Whether the amount could be paid now. */
            hasAccess: boolean;
            /**
             * Format: decimal
             * @description What is left of all grants.
             */
            balance: string;
            /**
             * Format: decimal
             * @description The amount that can be spent before the balance reaches the floor.
             */
            available: string;
        };
        /**
         * @description The wallet that pays for an access and its remaining balance. For a denial: the amounts required and
         *     available.
         */
        CreditsShown: {
            /** @description The wallet's id. */
            walletId: string;
            /** @description ISO 4217, or `access`. */
            unit: string;
            /**
             * Format: decimal
             * @description The amount left to spend: the balance minus the floor.
             */
            remaining?: string;
            /**
             * Format: decimal
             * @description The amount that could be spent.
             */
            available?: string;
            /**
             * Format: date-time
             * @description When the next refill is due; null for none.
             */
            nextRefillAt?: string | null;
            /**
             * Format: decimal
             * @description The price of the access, which the wallet cannot cover.
             */
            required?: string;
        };
        /** @enum {string} */
        Currency: "AED" | "AFN" | "ALL" | "AMD" | "AOA" | "ARS" | "AUD" | "AWG" | "AZN" | "BAM" | "BBD" | "BDT" | "BHD" | "BIF" | "BMD" | "BND" | "BOB" | "BOV" | "BRL" | "BSD" | "BTN" | "BWP" | "BYN" | "BZD" | "CAD" | "CDF" | "CHE" | "CHF" | "CHW" | "CLF" | "CLP" | "CNY" | "COP" | "COU" | "CRC" | "CUP" | "CVE" | "CZK" | "DJF" | "DKK" | "DOP" | "DZD" | "EGP" | "ERN" | "ETB" | "EUR" | "FJD" | "FKP" | "GBP" | "GEL" | "GHS" | "GIP" | "GMD" | "GNF" | "GTQ" | "GYD" | "HKD" | "HNL" | "HTG" | "HUF" | "IDR" | "ILS" | "INR" | "IQD" | "IRR" | "ISK" | "JMD" | "JOD" | "JPY" | "KES" | "KGS" | "KHR" | "KMF" | "KPW" | "KRW" | "KWD" | "KYD" | "KZT" | "LAK" | "LBP" | "LKR" | "LRD" | "LSL" | "LYD" | "MAD" | "MDL" | "MGA" | "MKD" | "MMK" | "MNT" | "MOP" | "MRU" | "MUR" | "MVR" | "MWK" | "MXN" | "MXV" | "MYR" | "MZN" | "NAD" | "NGN" | "NIO" | "NOK" | "NPR" | "NZD" | "OMR" | "PAB" | "PEN" | "PGK" | "PHP" | "PKR" | "PLN" | "PYG" | "QAR" | "RON" | "RSD" | "RUB" | "RWF" | "SAR" | "SBD" | "SCR" | "SDG" | "SEK" | "SGD" | "SHP" | "SLE" | "SOS" | "SRD" | "SSP" | "STN" | "SVC" | "SYP" | "SZL" | "THB" | "TJS" | "TMT" | "TND" | "TOP" | "TRY" | "TTD" | "TWD" | "TZS" | "UAH" | "UGX" | "USD" | "USN" | "UYI" | "UYU" | "UYW" | "UZS" | "VED" | "VES" | "VND" | "VUV" | "WST" | "XAD" | "XAF" | "XCD" | "XCG" | "XOF" | "XPF" | "YER" | "ZAR" | "ZMW" | "ZWG";
        /** @description An access decision and its reasons. */
        Decision: {
            /** @description The kind of the object. */
            object: "access_decision" | (string & {});
            /** @description Null for a dry run, which leaves no record. */
            id: string | null;
            /** @description Whether access is allowed; in figures, how many requests were. */
            allowed: boolean;
            /** @description Null if allowed. */
            reason: ("content_archived" | "credits_exhausted" | "host_not_allowed" | "license_expired" | "no_license" | "no_policy" | "permission_not_granted" | "policy_denied" | "quota_exceeded" | "rate_limit_exceeded" | (string & {})) | null;
            /** @description The rule's. */
            message: string | null;
            /** @description The content item's id. */
            contentId: string;
            requester: components["schemas"]["RequesterShown"];
            /** @description The requested permission, if any. */
            permission: string | null;
            /** @description What is granted. */
            permissions: string[];
            /** @description The policy's id. */
            policyId: string | null;
            /** @description The version of the policy that decided. */
            policyVersion: number | null;
            /** @description Null for the default action. */
            matchedRule: components["schemas"]["MatchedRule"] | null;
            /** @description The licence behind the decision; null for none. */
            license: components["schemas"]["LicenseBehind"] | null;
            /** @description The limit of the rule that matched; null for none. */
            rateLimit: components["schemas"]["RuleRateLimit"] | null;
            /** @description The price of the access; null if free. */
            charge: components["schemas"]["ChargeShown"] | null;
            /** @description The wallet that pays, or that cannot cover the access. */
            credits?: components["schemas"]["CreditsShown"];
            /** @description Seconds for which the decision can be cached. 0: check each access. */
            cacheFor: number;
            /** @description Whether the decision was only rehearsed. */
            dryRun: boolean;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created: string;
            /** @description Only for recorded decisions: the requester as given in the check. */
            context?: components["schemas"]["ContextShown"];
            /** @description With `expand=key`: the API key that made the check. Null if there was none. */
            keyId?: string | null;
            /** @description Only for visits to a site: the page, without port and query. */
            url?: string;
            /** @description Only for visits: the site of the host, if any. */
            siteId?: string | null;
            /** @description Only for visits: how the visitor was identified. */
            identifiedBy?: "address" | "api_key" | "license_token" | "nothing" | "reverse_dns" | "signature" | "site" | "user_agent" | (string & {});
            /** @description Only for readers' visits: the host of the page that linked here. */
            referrer?: string | null;
            /** @description Only for visits: whether it was imported from a log, and so never refused or charged. */
            imported?: boolean;
            /** @description The denial, if the decision would have been one. The site or policy only observes. */
            observed?: components["schemas"]["ObservedDenial"];
            /** @description With `sign`: the decision as a compact JWS; `/.well-known/jwks.json` has the keys. */
            token?: string;
            /** @description With `explain`, and for a recorded decision. */
            trace?: components["schemas"]["TraceStep"][];
            /** @description Whether the trace leaves out some of the evaluated rules. */
            traceTruncated?: boolean;
        };
        DecisionBatch: {
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description The items of the list, in order. */
            data: components["schemas"]["BatchedDecision"][];
            /** @description Whether more items follow. */
            hasMore: boolean;
            /** @description How many items match in all. */
            totalCount: number;
        };
        Deleted: {
            /** @description The resource's id. */
            id: string;
            /** @description The kind of the object. */
            object: "content" | "policy" | "site" | (string & {});
            /** @description Always true. */
            deleted: boolean;
        };
        DeletedEndpoint: {
            /** @description The resource's id. */
            id: string;
            /** @description The kind of the object. */
            object: "webhook_endpoint" | (string & {});
            /** @description Always true. */
            deleted: boolean;
        };
        DenialReason: {
            /** @description Why access was denied. */
            reason: string;
            /** @description How many. */
            count: number;
        };
        DenyRule: {
            /**
             * @description What is done: allowed or denied, or in the audit log what was changed. (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            action: "deny";
            /** @description Lower ones are tried first; a missing one last. */
            priority?: number;
            conditions: components["schemas"]["Conditions"];
            /** @description Comes with the decision. */
            message?: string;
        };
        /** @description With `dryRun`: a proposed policy that replaces the item's own. Defaults are those of a new policy. */
        Draft: {
            /** @description Together at most 65,536 bytes of JSON without spaces. */
            rules?: components["schemas"]["Rule"][];
            defaultAction?: components["schemas"]["RuleAction"];
        };
        /** @description The fields of a policy draft. */
        DraftRequest: {
            /** @description Together at most 65,536 bytes of JSON without spaces. */
            rules?: components["schemas"]["Rule"][];
            /** @description What decides where no rule matches. Default: `deny`, in a simulation that of the policy. */
            defaultAction?: components["schemas"]["RuleAction"];
        };
        EarningContent: {
            /** @description The resource's id. */
            id: string;
            /** @description The title, even of a deleted item. */
            title: string;
            /**
             * Format: decimal
             * @description The amount, in the report's currency.
             */
            revenue: string;
        };
        /** @description The plan's quota of proxy requests, and its use. Requests over the quota are still answered. */
        EdgeLimits: {
            minute: components["schemas"]["EdgeWindow"];
            day: components["schemas"]["EdgeWindow"];
        };
        /** @description One window of the edge quota. Requests over the quota are still answered. */
        EdgeWindow: {
            /** @description Proxy requests included in the plan. */
            limit: number;
            /** @description Proxy requests in this window. Can exceed `limit`. */
            used: number;
            /** @description 0 once `used` reaches `limit`. */
            remaining: number;
            /** @description End of the window, in Unix seconds. */
            reset: number;
        };
        /** @enum {string} */
        EntryType: "adjustment" | "fee" | "license" | "usage";
        Erased: {
            /** @description The resource's id. */
            id: string;
            /** @description The kind of the object. */
            object: "requester" | (string & {});
            /** @description Always true. */
            deleted: boolean;
            /** @description The id under which decisions, totals and the ledger remain. */
            pseudonym: string;
        };
        /** @description Why a request was refused. */
        Error: {
            error: components["schemas"]["ErrorDetail"];
        };
        /** @description What is wrong. */
        ErrorDetail: {
            /** @description Machine-readable and stable. */
            code: "host_not_allowed" | "idempotency_conflict" | "idempotency_mismatch" | "insufficient_permissions" | "insufficient_scope" | "internal_error" | "invalid_api_key" | "invalid_request" | "invalid_token" | "ip_not_allowed" | "method_not_allowed" | "missing_api_key" | "precondition_failed" | "rate_limit_exceeded" | "request_too_large" | "resource_already_exists" | "resource_in_use" | "resource_not_found" | "resource_revoked" | "service_unavailable" | "unsupported_media_type" | (string & {});
            /** @description For people; names what is wrong. */
            message: string;
            /** @description The kind of error. */
            type: "api_error" | "authentication_error" | "authorization_error" | "conflict_error" | "idempotency_error" | "invalid_request_error" | "not_found_error" | "rate_limit_error" | "validation_error" | (string & {});
            /**
             * Format: uri-reference
             * @description The documentation of the code; relative to the service's address if `BASE_URL` is not set.
             */
            docUrl?: string;
            /** @description The offending field, parameter or header. */
            param?: string;
            /** @description With `param`: a required field is `missing`, a field or parameter is `unknown`, or a value is `malformed`. */
            kind?: "missing" | "unknown" | "malformed" | (string & {});
            /** @description Seconds to wait. */
            retryAfter?: number;
            /** @description Where several fields are wrong: all of them, the first one among them. */
            errors?: components["schemas"]["FieldError"][];
        };
        /** @description The error of one part of a request that succeeded as a whole. */
        ErrorShown: {
            /** @description Machine-readable and stable. */
            code: string;
            /** @description For people: what is wrong. */
            message: string;
            /** @description The kind of error. */
            type: string;
            /** @description The documentation of the code; relative to the service's address if `BASE_URL` is not set. */
            docUrl?: string;
            /** @description The offending field. */
            param?: string;
            /** @description With `param`: a required field is `missing`, a field or parameter is `unknown`, or a value is `malformed`. */
            kind?: "missing" | "unknown" | "malformed" | (string & {});
            /** @description Seconds to wait. */
            retryAfter?: number;
            /** @description Where several fields are wrong: all of them, the first one among them. */
            errors?: components["schemas"]["FieldErrorShown"][];
        };
        /** @description Something that happened to one of the account's resources. */
        Event: {
            /** @description The resource's id. */
            id: string;
            /** @description The kind of the object. */
            object: "event" | (string & {});
            /** @description The kind of it. */
            type: "access.allowed" | "access.denied" | "api_key.created" | "api_key.expiring" | "api_key.revoked" | "api_key.rotated" | "api_key.updated" | "content.archived" | "content.created" | "content.deleted" | "content.updated" | "grant.expiring" | "import.finished" | "license.created" | "license.expired" | "license.expiring" | "license.revoked" | "license.updated" | "limit.reached" | "payment.created" | "payment.voided" | "ping" | "policy.created" | "policy.deleted" | "policy.rolled_back" | "policy.updated" | "requester.updated" | "revenue.adjusted" | "wallet.exhausted" | "wallet.low" | "wallet.topped_up" | "webhook_endpoint.disabled" | (string & {});
            /**
             * Format: date-time
             * @description When it was created.
             */
            created: string;
            /** @description The resource as the API returned it at that time. */
            data: {
                [key: string]: unknown;
            };
            /** @description On updates: the fields that changed, with their former values. */
            previous?: {
                [key: string]: unknown;
            };
        };
        /** @enum {string} */
        EventPattern: "*" | "access.*" | "api_key.*" | "content.*" | "grant.*" | "import.*" | "license.*" | "limit.*" | "payment.*" | "policy.*" | "requester.*" | "revenue.*" | "wallet.*" | "webhook_endpoint.*" | "content.created" | "content.archived" | "content.updated" | "content.deleted" | "policy.created" | "policy.updated" | "policy.rolled_back" | "policy.deleted" | "api_key.created" | "api_key.updated" | "api_key.rotated" | "api_key.revoked" | "api_key.expiring" | "requester.updated" | "license.created" | "license.updated" | "license.revoked" | "license.expiring" | "license.expired" | "wallet.low" | "wallet.exhausted" | "wallet.topped_up" | "grant.expiring" | "revenue.adjusted" | "payment.created" | "payment.voided" | "import.finished" | "access.denied" | "access.allowed" | "limit.reached" | "webhook_endpoint.disabled";
        /** @enum {string} */
        EventType: "access.allowed" | "access.denied" | "api_key.created" | "api_key.expiring" | "api_key.revoked" | "api_key.rotated" | "api_key.updated" | "content.archived" | "content.created" | "content.deleted" | "content.updated" | "grant.expiring" | "import.finished" | "license.created" | "license.expired" | "license.expiring" | "license.revoked" | "license.updated" | "limit.reached" | "payment.created" | "payment.voided" | "ping" | "policy.created" | "policy.deleted" | "policy.rolled_back" | "policy.updated" | "requester.updated" | "revenue.adjusted" | "wallet.exhausted" | "wallet.low" | "wallet.topped_up" | "webhook_endpoint.disabled";
        /** @description A source that states facts of a crawler. */
        Evidence: {
            /** @description The fields that the source states. */
            facts: ("operator" | "class" | "userAgent" | "robotsToken" | "addressLists" | "hosts" | "signatureAgent" | (string & {}))[];
            /** @description The page or file that states the facts. */
            url: string;
            /**
             * Format: date
             * @description The day on which the source stated them.
             */
            date: string;
        };
        /** @description The expected decision. Omitted members may have any value. */
        ExpectedDecision: {
            /** @description Whether access is allowed; in figures, how many requests were. */
            allowed: boolean;
            /** @description The reason of a denial. */
            reason?: ("content_archived" | "credits_exhausted" | "host_not_allowed" | "license_expired" | "no_license" | "no_policy" | "permission_not_granted" | "policy_denied" | "quota_exceeded" | "rate_limit_exceeded" | (string & {})) | null;
            /** @description Index of the deciding rule; null if there is none. */
            matchedRule?: number | null;
        };
        /** @description The expected decision. Omitted members may have any value. */
        ExpectedDecisionRequest: {
            /** @description Whether access is allowed; in figures, how many requests were. */
            allowed: boolean;
            /** @description The reason of a denial. */
            reason?: components["schemas"]["Reason"] | null;
            /** @description Index of the deciding rule; null if there is none. */
            matchedRule?: number | null;
        };
        FailedCondition: {
            /** @description The condition's name. */
            condition: string;
            /** @description What the condition asks for. */
            wanted: unknown;
            /** @description What the condition looked at had; null where nothing was known. */
            saw: unknown;
        };
        /** @description A recurring fee, charged at the start of each period. */
        Fee: {
            /**
             * Format: decimal
             * @description An exact decimal, as a number or a string.
             */
            amount: string;
            /** @description ISO 4217. */
            currency: string;
            /** @description The period, counted from `startsAt`. */
            every: "month" | "quarter" | "year" | (string & {});
        };
        /** @description A recurring fee, charged at the start of each period. */
        FeeRequest: {
            /** @description A number or a decimal in a string, with up to 6 places. */
            amount: string;
            /** @description ISO 4217. */
            currency: components["schemas"]["Currency"];
            /**
             * @description The period, counted from `startsAt`.
             * @enum {string}
             */
            every: "month" | "quarter" | "year";
        };
        /** @description What is wrong with one field. */
        FieldError: {
            /** @description Machine-readable and stable. */
            code: "host_not_allowed" | "idempotency_conflict" | "idempotency_mismatch" | "insufficient_permissions" | "insufficient_scope" | "internal_error" | "invalid_api_key" | "invalid_request" | "invalid_token" | "ip_not_allowed" | "method_not_allowed" | "missing_api_key" | "precondition_failed" | "rate_limit_exceeded" | "request_too_large" | "resource_already_exists" | "resource_in_use" | "resource_not_found" | "resource_revoked" | "service_unavailable" | "unsupported_media_type" | (string & {});
            /** @description For people; names what is wrong. */
            message: string;
            /** @description The offending field, parameter or header. */
            param?: string;
            /** @description With `param`: a required field is `missing`, a field or parameter is `unknown`, or a value is `malformed`. */
            kind?: "missing" | "unknown" | "malformed" | (string & {});
        };
        /** @description A fault of one field. */
        FieldErrorShown: {
            /** @description Machine-readable and stable. */
            code: string;
            /** @description For people: what is wrong. */
            message: string;
            /** @description The offending field. */
            param?: string;
            /** @description With `param`: a required field is `missing`, a field or parameter is `unknown`, or a value is `malformed`. */
            kind?: "missing" | "unknown" | "malformed" | (string & {});
        };
        FindingShown: {
            /** @description How grave it is. */
            level: "warning" | "info" | (string & {});
            /** @description Machine-readable and stable. */
            code: "duplicate_rule" | "unreachable_rule" | "contradictory_conditions" | "ended" | "permission_never_granted" | "never_allows" | "price_never_quoted" | "unknown_license_type" | "allow_without_license" | "default_allows" | "allow_by_name_alone" | "license_may_have_lapsed" | "grants_nothing" | "begun" | "not_compared" | (string & {});
            /** @description For example `rules[0].conditions`. */
            path: string;
            /** @description For people. */
            message: string;
        };
        /** @description A folder or a page directly below `url[prefix]`. */
        FolderShown: {
            /** @description How many requests. */
            requests: number;
            /** @description Whether access is allowed; in figures, how many requests were. */
            allowed: number;
            /** @description Allowed only because denials are observed. */
            observed: number;
            /** @description How many requests were denied. */
            denied: number;
            /** @description Ends with a slash for a folder: the next `url[prefix]`. */
            url: string;
        };
        /** @description Credit that was added to a wallet. */
        Grant: {
            /** @description The resource's id. */
            readonly id: string;
            /** @description The kind of the object. */
            readonly object: "grant" | (string & {});
            /** @description The wallet's id. */
            readonly walletId: string;
            /**
             * Format: decimal
             * @description An exact decimal, as a number or a string.
             */
            amount: string;
            /**
             * Format: decimal
             * @description The amount left.
             */
            readonly remaining: string;
            /** @description Default: `paid`. */
            kind: "paid" | "promotional" | "refill" | "refund" | (string & {});
            /** @description Lower ones are spent first. Default: 128. */
            priority: number;
            /** @description The state it is in. */
            readonly status: "scheduled" | "active" | "ended" | "voided" | (string & {});
            /**
             * Format: date-time
             * @description When it starts. Default: now.
             */
            effectiveAt: string | null;
            /**
             * Format: date-time
             * @description When it ends; null for never.
             */
            expiresAt: string | null;
            /** @description Your own id. Each id adds credit once. */
            externalId: string | null;
            /** @description What was paid for it: recorded as a payment with the grant, which settles no charge. Needs `revenue:write`. What a wallet of money spends is charged: record what was paid for that by itself. */
            paid: components["schemas"]["Price"] | null;
            /**
             * Format: date-time
             * @description When it was taken back; null if it was not.
             */
            readonly voidedAt: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            readonly created: string;
        };
        /** @enum {string} */
        GrantKind: "paid" | "promotional" | "refill" | "refund";
        /** @description Credit that was added to a wallet. */
        GrantRequest: {
            /** @description A number or a decimal in a string, with up to 6 places. */
            amount: string;
            /** @description Default: `paid`. */
            kind?: components["schemas"]["GrantKind"];
            /** @description Lower ones are spent first. Default: 128. */
            priority?: number | null;
            /** @description When it starts. Default: now. */
            effectiveAt?: string | null;
            /** @description When it ends; null for never. */
            expiresAt?: string | null;
            /** @description Your own id. Each id adds credit once. */
            externalId?: string | null;
            /** @description What was paid for it: recorded as a payment with the grant, which settles no charge. Needs `revenue:write`. What a wallet of money spends is charged: record what was paid for that by itself. */
            paid?: components["schemas"]["PriceRequest"] | null;
        };
        /** @description A licence that the service holds for the requester and the item. */
        HeldLicenseOfTest: {
            /** @description The tier of the licence. */
            licenseType: string;
            /** @description Default: long ago. */
            startsAt?: string | null;
            /** @description When it ends; null for never. */
            expiresAt?: string | null;
        };
        /** @description A licence that the service holds for the requester and the item. */
        HeldLicenseOfTestRequest: {
            /** @description The tier of the licence. */
            licenseType: string;
            /** @description Default: long ago. */
            startsAt?: string | null;
            /** @description When it ends; null for never. */
            expiresAt?: string | null;
        };
        /** @enum {string} */
        Identification: "address" | "api_key" | "license_token" | "nothing" | "reverse_dns" | "signature" | "site" | "user_agent";
        /** @description At most `requests` with the key per UTC minute, hour or day. */
        KeyRateLimit: {
            /** @description Fewer than the plan allows in the period. */
            requests: number;
            /** @description The length of the window. */
            period: "minute" | "hour" | "day" | (string & {});
        };
        /** @enum {string} */
        KeyRateLimitPeriod: "minute" | "hour" | "day";
        /** @description At most `requests` with the key per UTC minute, hour or day. */
        KeyRateLimitRequest: {
            /** @description Fewer than the plan allows in the period. */
            requests: number;
            period: components["schemas"]["KeyRateLimitPeriod"];
        };
        /** @description The full text of a key to find. */
        KeyTextRequest: {
            /** @description The full key, as it stands where it leaked. */
            key: string;
        };
        /** @enum {string} */
        KeyType: "secret" | "public";
        /** @description Revenue, or a refund if negative. */
        LedgerEntry: {
            /** @description The resource's id. */
            readonly id: string;
            /** @description The kind of the object. */
            readonly object: "ledger_entry" | (string & {});
            /** @description The kind of it. */
            readonly type: "adjustment" | "fee" | "license" | "usage" | (string & {});
            /**
             * Format: decimal
             * @description Not 0. Negative to give money back.
             */
            amount: string;
            /** @description ISO 4217. */
            currency: string;
            /**
             * Format: date-time
             * @description Reports count it on this day and convert it at that day's rate. Default: now.
             */
            occurredAt: string | null;
            /** @description The licence's id. */
            licenseId: string | null;
            /** @description The tier of the licence. */
            licenseType: string | null;
            /** @description The fee, or other charge without decision and licence, that this adjustment refunds. */
            feeId: string | null;
            /** @description The decision's id. */
            decisionId: string | null;
            /** @description The content item's id. */
            contentId: string | null;
            /** @description The item's current title, even if it is deleted. */
            readonly contentTitle: string | null;
            /** @description The requester's id, as the publisher calls them. */
            requesterId: string | null;
            /** @description The requester's current name. */
            readonly requesterName: string | null;
            /** @description What for. */
            description: string | null;
            /** @description Your own id of an adjustment. Each id is booked once. */
            externalId: string | null;
            /**
             * Format: decimal
             * @description The amount refunded of the charge, fee or licence price; null for a correction.
             */
            readonly refunded: string;
            /**
             * Format: decimal
             * @description The amount still refundable.
             */
            readonly refundable: string;
            /**
             * Format: date-time
             * @description When it was created.
             */
            readonly created: string;
        };
        /** @description A licence: its type, scope, period and prices. */
        License: {
            /** @description The resource's id. */
            readonly id: string;
            /** @description The kind of the object. */
            readonly object: "license" | (string & {});
            /** @description The caller's own id. It stays. */
            requesterId: string;
            /** @description The requester's name. Given here, it names a requester that has none, and changes no name. */
            requesterName: string | null;
            /** @description The licence's id in your own system. Unique within the account. */
            externalId: string | null;
            /** @description Compared by the condition `licenseType`. */
            licenseType: string;
            /** @description The items that it covers. Without contentIds, tags and policyIds it covers all. */
            contentIds: string[];
            /** @description It also covers items that have one of these tags, */
            tags: string[];
            /** @description and items under one of these policies. */
            policyIds: string[];
            /**
             * Format: date-time
             * @description Default: `created`. Years 2000 to 2999.
             */
            startsAt: string;
            /**
             * Format: date-time
             * @description When it ends; null for never.
             */
            expiresAt: string | null;
            /** @description Recorded in the ledger when the licence is issued, dated `startsAt`. */
            price: components["schemas"]["Money"] | null;
            /** @description The price of each access that this licence allows. */
            pricePerAccess: components["schemas"]["Money"] | null;
            /** @description A recurring fee, charged in advance at the start of each period from `startsAt` until the licence ends. A change applies from the next period; null ends it. */
            fee: components["schemas"]["Fee"] | null;
            /**
             * Format: date-time
             * @description When the next fee is charged. Null: never.
             */
            readonly nextFeeAt: string | null;
            /**
             * @description Up to 50 keys of 1–64 characters A-Z, a-z, 0-9, `_`, `.`, `-`; null removes a key.
             * @example {
             *       "country": "DE",
             *       "seats": 25
             *     }
             */
            metadata: {
                [key: string]: string | number | boolean | null;
            };
            /** @description Read-only. Revoke with `POST /v1/licenses/{id}/revoke`. */
            readonly status: "active" | "expired" | "revoked" | (string & {});
            /**
             * Format: date-time
             * @description When it was revoked; null if it was not.
             */
            readonly revokedAt: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            readonly created: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            readonly updated: string;
        };
        LicenseBehind: {
            /** @description The resource's id. */
            id: string | null;
            /** @description The tier of the licence. */
            licenseType: string | null;
            /**
             * Format: date-time
             * @description When it ends; null for never.
             */
            expiresAt: string | null;
            /** @description The item's URL; of a licence, who vouches for it. */
            source: "service" | "caller" | "offer" | (string & {});
        };
        /** @description The outcome of a row. */
        LicenseBulkOutcome: {
            /** @description Index of the row in `items`, from 0. */
            index: number;
            /** @description `201` issued, `200` changed or already so, `422` a fault of the row, `409` a revoked licence, one that an earlier row is about, or an `externalId` that another licence has. */
            status: number;
            /** @description Null if the row has an error. */
            license: components["schemas"]["License"] | null;
            /** @description As the row would be answered alone. */
            error: components["schemas"]["ErrorShown"] | null;
        };
        LicenseBulkOutcomes: {
            /** @description The items of the list, in order. */
            data: components["schemas"]["LicenseBulkOutcome"][];
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description Always false. */
            hasMore: boolean;
            /** @description Number of rows in the request. */
            totalCount: number;
        };
        /** @description Licences to issue or change. */
        LicenseBulkRequest: {
            /** @description The rows: each a new item or a change of one. */
            items: components["schemas"]["LicenseBulkRowRequest"][];
        };
        /** @description A licence to issue, or changes of the one named by `id` or `externalId`. */
        LicenseBulkRowRequest: {
            /** @description The licence to change, as by PATCH. */
            id?: string | null;
            /** @description Required when creating a licence. The caller's own id. */
            requesterId?: string;
            /** @description The requester's name. Given here, it names a requester that has none, and changes no name. */
            requesterName?: string | null;
            /** @description The licence's id in your own system. Unique within the account. */
            externalId?: string | null;
            /** @description Required when creating a licence. */
            licenseType?: string;
            /** @description The items that it covers. Without contentIds, tags and policyIds it covers all. */
            contentIds?: string[] | null;
            /** @description It also covers items that have one of these tags, */
            tags?: string[] | null;
            /** @description and items under one of these policies. */
            policyIds?: string[] | null;
            /** @description Default: `created`. Years 2000 to 2999. */
            startsAt?: string | null;
            /** @description When it ends; null for never. */
            expiresAt?: string | null;
            /** @description Recorded in the ledger when the licence is issued, dated `startsAt`. */
            price?: components["schemas"]["MoneyRequest"] | null;
            /** @description The price of each access that this licence allows. */
            pricePerAccess?: components["schemas"]["MoneyRequest"] | null;
            /** @description A recurring fee, charged in advance at the start of each period from `startsAt` until the licence ends. A change applies from the next period; null ends it. */
            fee?: components["schemas"]["FeeRequest"] | null;
            /**
             * @description Up to 50 keys of 1–64 characters A-Z, a-z, 0-9, `_`, `.`, `-`; null removes a key.
             * @example {
             *       "country": "DE",
             *       "seats": 25
             *     }
             */
            metadata?: {
                [key: string]: string | number | boolean | null;
            } | null;
        };
        /** @description A requester's credentials at the licence server; `id` is the client_id. */
        LicenseClient: {
            /** @description The client_id. */
            readonly id: string;
            /** @description The kind of the object. */
            readonly object: "license_client" | (string & {});
            /** @description The requester whose licences the tokens represent. */
            requesterId: string;
            /** @description The requester's name. Given here, it names a requester that has none, and changes no name. */
            requesterName: string | null;
            /** @description A label for people; by default the requester's id. */
            name: string;
            /** @description The beginning of the secret, to recognise it by. */
            readonly prefix: string;
            /**
             * Format: date-time
             * @description Until when the previous secret works too.
             */
            readonly formerSecretUntil: string | null;
            /**
             * Format: date-time
             * @description When it was revoked; null if it was not.
             */
            readonly revokedAt: string | null;
            /**
             * Format: date-time
             * @description To the minute; null before the first use.
             */
            readonly lastUsedAt: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            readonly created: string;
        };
        /** @description A requester's credentials at the licence server; `id` is the client_id. */
        LicenseClientRequest: {
            /** @description The requester whose licences the tokens represent. */
            requesterId: string;
            /** @description The requester's name. Given here, it names a requester that has none, and changes no name. */
            requesterName?: string | null;
            /** @description A label for people; by default the requester's id. */
            name?: string | null;
        };
        /** @description A requester's credentials at the licence server; `id` is the client_id. */
        LicenseClientWithSecret: {
            /** @description The client_id. */
            readonly id: string;
            /** @description The kind of the object. */
            readonly object: "license_client" | (string & {});
            /** @description The requester whose licences the tokens represent. */
            requesterId: string;
            /** @description The requester's name. Given here, it names a requester that has none, and changes no name. */
            requesterName: string | null;
            /** @description A label for people; by default the requester's id. */
            name: string;
            /** @description The beginning of the secret, to recognise it by. */
            readonly prefix: string;
            /**
             * Format: date-time
             * @description Until when the previous secret works too.
             */
            readonly formerSecretUntil: string | null;
            /**
             * Format: date-time
             * @description When it was revoked; null if it was not.
             */
            readonly revokedAt: string | null;
            /**
             * Format: date-time
             * @description To the minute; null before the first use.
             */
            readonly lastUsedAt: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            readonly created: string;
            /** @description The client_secret. Shown only in this reply. */
            readonly secret: string;
        };
        /** @description A licence: its type, scope, period and prices. */
        LicenseRequest: {
            /** @description The caller's own id. It stays. */
            requesterId: string;
            /** @description The requester's name. Given here, it names a requester that has none, and changes no name. */
            requesterName?: string | null;
            /** @description The licence's id in your own system. Unique within the account. */
            externalId?: string | null;
            /** @description Compared by the condition `licenseType`. */
            licenseType: string;
            /** @description The items that it covers. Without contentIds, tags and policyIds it covers all. */
            contentIds?: string[] | null;
            /** @description It also covers items that have one of these tags, */
            tags?: string[] | null;
            /** @description and items under one of these policies. */
            policyIds?: string[] | null;
            /** @description Default: `created`. Years 2000 to 2999. */
            startsAt?: string | null;
            /** @description When it ends; null for never. */
            expiresAt?: string | null;
            /** @description Recorded in the ledger when the licence is issued, dated `startsAt`. */
            price?: components["schemas"]["MoneyRequest"] | null;
            /** @description The price of each access that this licence allows. */
            pricePerAccess?: components["schemas"]["MoneyRequest"] | null;
            /** @description A recurring fee, charged in advance at the start of each period from `startsAt` until the licence ends. A change applies from the next period; null ends it. */
            fee?: components["schemas"]["FeeRequest"] | null;
            /**
             * @description Up to 50 keys of 1–64 characters A-Z, a-z, 0-9, `_`, `.`, `-`; null removes a key.
             * @example {
             *       "country": "DE",
             *       "seats": 25
             *     }
             */
            metadata?: {
                [key: string]: string | number | boolean | null;
            } | null;
        };
        /** @enum {string} */
        LicenseStatus: "active" | "expired" | "revoked";
        LicenseTypes: string[];
        /** @description The plan's limits and their use. */
        Limits: {
            minute: components["schemas"]["Window"];
            day: components["schemas"]["Window"];
        };
        /** @description Findings about a policy that its author probably did not intend. */
        Lint: {
            /** @description The kind of the object. */
            object: "policy_lint" | (string & {});
            /** @description What was found, in the order of the rules. */
            findings: components["schemas"]["FindingShown"][];
            /** @description Whether there are more findings than returned. */
            truncated?: boolean;
        };
        MatchedRule: {
            /** @description Index in the policy's list, from 0. */
            index: number;
            /** @description Lower ones are tried first; a missing one last. */
            priority: number | null;
            /** @description What is done: allowed or denied, or in the audit log what was changed. */
            action: "allow" | "deny" | (string & {});
        };
        /** @description The requester to merge into. */
        MergeRequest: {
            /** @description The requester that receives all records. */
            into: string;
        };
        /** @enum {string} */
        Mode: "disabled" | "enforce" | "observe";
        /** @description An amount in a currency. */
        Money: {
            /**
             * Format: decimal
             * @description An exact decimal, as a number or a string.
             */
            amount: string;
            /** @description ISO 4217. */
            currency: string;
        };
        /** @description An amount in a currency. */
        MoneyRequest: {
            /** @description A number or a decimal in a string, with up to 6 places. */
            amount: string;
            /** @description ISO 4217. */
            currency: components["schemas"]["Currency"];
        };
        MovedContent: {
            /** @description The resource's id. */
            id: string;
            /** @description The item's title. */
            title: string;
            /** @description The sum. */
            total: number;
            /** @description How many allowed requests would be denied. */
            allowedToDenied: number;
            /** @description How many denied requests would be allowed. */
            deniedToAllowed: number;
        };
        MovedRequester: {
            /** @description The resource's id. */
            id: string;
            /** @description A name for people. */
            name: string | null;
            /** @description The sum. */
            total: number;
            /** @description How many allowed requests would be denied. */
            allowedToDenied: number;
            /** @description How many denied requests would be allowed. */
            deniedToAllowed: number;
        };
        ObservedContent: {
            /** @description The resource's id. */
            id: string;
            /** @description The item's title. */
            title: string;
            /** @description How many requests. */
            requests: number;
        };
        /** @description The denial that enforcing the policy and its site would have produced. */
        ObservedDenial: {
            /** @description Always false. */
            allowed: boolean;
            /** @description Why access was denied. */
            reason: "content_archived" | "credits_exhausted" | "host_not_allowed" | "license_expired" | "no_license" | "no_policy" | "permission_not_granted" | "policy_denied" | "quota_exceeded" | "rate_limit_exceeded" | (string & {});
        };
        ObservedReason: {
            /** @description Why access was denied. */
            reason: "content_archived" | "credits_exhausted" | "host_not_allowed" | "license_expired" | "no_license" | "no_policy" | "permission_not_granted" | "policy_denied" | "quota_exceeded" | "rate_limit_exceeded" | (string & {});
            /** @description How many. */
            count: number;
        };
        /** @description Access that would have been refused if denials were enforced. */
        ObservedReport: {
            /** @description The kind of the object. */
            object: "observed_report" | (string & {});
            /** @description Null if the report covers all sites and policies. */
            siteId: string | null;
            /**
             * Format: date-time
             * @description The first day or moment of the window.
             */
            startDate: string;
            /**
             * Format: date-time
             * @description Inclusive.
             */
            endDate: string;
            /** @description The sum. */
            total: number;
            /** @description Whether the revenue covers only the newest 10,000 denials of those who could pay. */
            truncated: boolean;
            /** @description How many for each reason. */
            byReason: components["schemas"]["ObservedReason"][];
            /** @description The ten with the most requests. */
            byRequester: components["schemas"]["ObservedRequester"][];
            /** @description The ten with the most. The pages of a site count as one. */
            byContent: components["schemas"]["ObservedContent"][];
            /** @description The prices of the denied accesses, by currency. */
            revenueAtStake: components["schemas"]["ChargeShown"][];
        };
        ObservedRequester: {
            /** @description The resource's id. */
            id: string;
            /** @description A name for people. */
            name: string | null;
            /** @description How many requests. */
            requests: number;
            /** @description The prices of the denied accesses, by currency. */
            revenueAtStake: components["schemas"]["ChargeShown"][];
        };
        /** @description Access for a price, without a licence. */
        Offer: {
            /** @description The licence type; null if the rule names none. */
            licenseType: string | null;
            /** @description What is granted. */
            permissions: string[];
            pricePerAccess: components["schemas"]["ChargeShown"];
        };
        /** @description Pages and items, and the requester whose licences apply. */
        OfferBatchRequest: {
            /** @description The rows: each a new item or a change of one. */
            items: components["schemas"]["PageOrItemRequest"][];
            /** @description The requester whose licences count. */
            requesterId?: string | null;
            /**
             * @description What the requester wants to do.
             * @example commercial_use
             */
            permission?: string | null;
        };
        /** @description The offers of a batch, in the order of the request. */
        OfferList: {
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description The items of the list, in order. */
            data: components["schemas"]["BatchedOffer"][];
            /** @description Whether more items follow. */
            hasMore: boolean;
            /** @description How many items match in all. */
            totalCount: number;
        };
        /** @description A pattern that everybody may read, but that does not stay open. */
        OmittedPattern: {
            /** @description The pattern as the site has it. */
            pattern: string;
            /** @description Why its pages do not stay open. */
            reason: string;
        };
        /** @description A created key with its full text, or a changed key. */
        OutcomeKey: {
            /** @description The resource's id. */
            readonly id: string;
            /**
             * @description The kind of the object.
             * @default api_key
             */
            readonly object: "api_key" | (string & {});
            /** @description A label for people. */
            name: string;
            /** @description `public` keys can only read. */
            type: "secret" | "public" | (string & {});
            /** @description The beginning of the key, to recognise it by. */
            readonly prefix: string;
            /** @description By default `*` for a secret key, `content:read` and `policies:read` for a public one: whoever has that reads every item with its figures, and every policy with the requester ids and addresses in its rules. */
            permissions: ("content:read" | "content:write" | "policies:read" | "policies:write" | "access:check" | "analytics:read" | "webhooks:manage" | "api_keys:manage" | "licenses:read" | "licenses:write" | "revenue:read" | "revenue:write" | "audit:read" | "*" | (string & {}))[];
            /** @description IPv4 or IPv6 addresses, or CIDR ranges without host bits. Empty: any address. Default: the addresses of the key that creates it. */
            allowedIps: string[];
            /** @description Hosts for which the key can be used at the edge; others return 403. Empty: any host. Default: the hosts of the key that creates it. Other endpoints ignore it. */
            allowedHosts: string[];
            /** @description A limit of this key, below the plan's, which applies too. Null: only the plan's. Default: that of the key that creates it. Does not apply at the edge. */
            rateLimit: components["schemas"]["KeyRateLimit"] | null;
            /**
             * Format: date-time
             * @description When the key expires; null for never. Default: the expiry of the key that creates it.
             */
            expiresAt: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            readonly createdAt: string;
            /**
             * Format: date-time
             * @description To the minute; null before the first use.
             */
            readonly lastUsedAt: string | null;
            /**
             * Format: date-time
             * @description When the key was revoked; null if it is not.
             */
            readonly revokedAt: string | null;
            /** @description The full key. Shown only in this reply. */
            readonly key?: string;
        };
        /** @description The account of the requesting key. Public keys do not see how much of the plan is used. */
        OwnAccount: {
            /** @description The resource's id. */
            id: string;
            /** @description The kind of the object. */
            object: "account" | (string & {});
            /** @description A name for people. */
            name: string;
            /** @description The plan that sets the limits. */
            plan: "starter" | "professional" | "enterprise" | (string & {});
            limits?: components["schemas"]["Limits"];
            edgeLimits?: components["schemas"]["EdgeLimits"];
            /** @description Whether the edge lets visitors in at hosts that the account has no site for. Visits that it lets in are recorded as observed. */
            unknownHost: "allow" | "deny" | (string & {});
            /** @description Whether signers (Web Bot Auth) that the table of crawlers does not list can pay prices at the edge. `deny`: only with a valid licence or a wallet. */
            unlistedSigners: "pay" | "deny" | (string & {});
            /** @description How addresses of people at the edge are stored: `truncated` to /24 (IPv6: /48), or `full`. Those of crawlers are always stored in full. */
            visitorAddresses: "truncated" | "full" | (string & {});
            /**
             * Format: time-zone
             * @description IANA name. Months of refills begin by its clock.
             * @example Europe/Berlin
             */
            timeZone: string;
            /** @description ISO 4217. The account's own currency. */
            currency: string;
            key: components["schemas"]["OwnKey"];
            /**
             * Format: date-time
             * @description When it was created.
             */
            created: string;
        };
        /** @description The requesting key. */
        OwnKey: {
            /** @description The resource's id. */
            id: string;
            /** @description A name for people. */
            name: string;
            /** @description The kind of it. */
            type: "secret" | "public" | (string & {});
            /** @description What is granted. */
            permissions: string[];
            /**
             * Format: date-time
             * @description When it ends; null for never.
             */
            expiresAt: string | null;
        };
        /** @description Numbers of requests by answer. */
        PageCounts: {
            /** @description How many requests. */
            requests: number;
            /** @description Whether access is allowed; in figures, how many requests were. */
            allowed: number;
            /** @description Allowed only because denials are observed. */
            observed: number;
            /** @description How many requests were denied. */
            denied: number;
        };
        /** @description A page or an item: exactly one of the two. */
        PageOrItemRequest: {
            /**
             * Format: uri
             * @description The address of a page, or of a registered item,
             */
            url?: string | null;
            /** @description or an item by its id. */
            contentId?: string | null;
        };
        /** @description Requests at the edge by page, by folder, by crawler and by day. */
        PageReportShown: {
            /** @description The kind of the object. */
            object: "page_report" | (string & {});
            /** @description Null if the report covers all sites. */
            siteId: string | null;
            /**
             * Format: date-time
             * @description The first day or moment of the window.
             */
            startDate: string;
            /**
             * Format: date-time
             * @description Inclusive.
             */
            endDate: string;
            summary: components["schemas"]["PageCounts"];
            /** @description Only days with requests. */
            timeSeries: components["schemas"]["PagesOfDay"][];
            /** @description The 100 visitors with most requests. */
            byCrawler: components["schemas"]["PageVisitor"][];
            /** @description The 100 with most requests. */
            folders: components["schemas"]["FolderShown"][];
            /** @description The 100 with most requests. */
            pages: components["schemas"]["PageShown"][];
        };
        /** @description A page with the visitors that requested it most. */
        PageShown: {
            /** @description How many requests. */
            requests: number;
            /** @description Whether access is allowed; in figures, how many requests were. */
            allowed: number;
            /** @description Allowed only because denials are observed. */
            observed: number;
            /** @description How many requests were denied. */
            denied: number;
            /** @description Without query. Null for the sum of all pages beyond the first 20,000 of a day. */
            url: string | null;
            /**
             * Format: date-time
             * @description When the latest was decided.
             */
            lastSeen: string;
            /** @description The ten with the most requests. */
            visitors: components["schemas"]["VisitorOfPage"][];
        };
        /** @description A crawler or another visitor of these pages. */
        PageVisitor: {
            /** @description How many requests. */
            requests: number;
            /** @description Whether access is allowed; in figures, how many requests were. */
            allowed: number;
            /** @description Allowed only because denials are observed. */
            observed: number;
            /** @description How many requests were denied. */
            denied: number;
            /** @description The requester. Null for one that was deleted. */
            id: string | null;
            /** @description A name for people. */
            name: string | null;
            /** @description Who runs the crawler. */
            operator: string | null;
            /** @description `other` for a visitor that is not a known crawler. */
            crawlerClass: "ai_training" | "ai_input" | "ai_index" | "search" | "archive" | "preview" | "ads" | "other" | (string & {});
            /** @description How the visitor was identified. */
            identifiedBy: "address" | "api_key" | "license_token" | "nothing" | "reverse_dns" | "signature" | "site" | "user_agent" | (string & {});
            /** @description Whether the visitor's identity is proven. */
            verified: boolean;
            /**
             * Format: date-time
             * @description When the latest was decided.
             */
            lastSeen: string;
        };
        /** @description Numbers of requests by answer. */
        PagesOfDay: {
            /** @description How many requests. */
            requests: number;
            /** @description Whether access is allowed; in figures, how many requests were. */
            allowed: number;
            /** @description Allowed only because denials are observed. */
            observed: number;
            /** @description How many requests were denied. */
            denied: number;
            /**
             * Format: date
             * @description A UTC day.
             */
            date: string;
        };
        PaginatedApiKeyList: {
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description The items of the list, in order. */
            data: components["schemas"]["ApiKey"][];
            /** @description Whether more items follow. */
            hasMore: boolean;
            /** @description Absent on the last page. */
            nextCursor?: string;
            /** @description How many items match in all. Absent with `count=none`. */
            totalCount?: number;
            /** @description `false` if `totalCount` is an estimate; absent if it is exact. */
            totalCountIsExact?: boolean;
        };
        PaginatedAuditEntryList: {
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description The items of the list, in order. */
            data: components["schemas"]["AuditEntry"][];
            /** @description Whether more items follow. */
            hasMore: boolean;
            /** @description Absent on the last page. */
            nextCursor?: string;
            /** @description How many items match in all. Absent with `count=none`. */
            totalCount?: number;
            /** @description `false` if `totalCount` is an estimate; absent if it is exact. */
            totalCountIsExact?: boolean;
        };
        PaginatedContentList: {
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description The items of the list, in order. */
            data: components["schemas"]["Content"][];
            /** @description Whether more items follow. */
            hasMore: boolean;
            /** @description Absent on the last page. */
            nextCursor?: string;
            /** @description How many items match in all. Absent with `count=none`. */
            totalCount?: number;
            /** @description `false` if `totalCount` is an estimate; absent if it is exact. */
            totalCountIsExact?: boolean;
        };
        PaginatedDecisionList: {
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description The items of the list, in order. */
            data: components["schemas"]["Decision"][];
            /** @description Whether more items follow. */
            hasMore: boolean;
            /** @description Absent on the last page. */
            nextCursor?: string;
            /** @description How many items match in all. Absent with `count=none`. */
            totalCount?: number;
            /** @description `false` if `totalCount` is an estimate; absent if it is exact. */
            totalCountIsExact?: boolean;
        };
        PaginatedEventList: {
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description The items of the list, in order. */
            data: components["schemas"]["Event"][];
            /** @description Whether more items follow. */
            hasMore: boolean;
            /** @description Absent on the last page. */
            nextCursor?: string;
            /** @description How many items match in all. Absent with `count=none`. */
            totalCount?: number;
            /** @description `false` if `totalCount` is an estimate; absent if it is exact. */
            totalCountIsExact?: boolean;
        };
        PaginatedGrantList: {
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description The items of the list, in order. */
            data: components["schemas"]["Grant"][];
            /** @description Whether more items follow. */
            hasMore: boolean;
            /** @description Absent on the last page. */
            nextCursor?: string;
            /** @description How many items match in all. Absent with `count=none`. */
            totalCount?: number;
            /** @description `false` if `totalCount` is an estimate; absent if it is exact. */
            totalCountIsExact?: boolean;
        };
        PaginatedLedgerEntryList: {
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description The items of the list, in order. */
            data: components["schemas"]["LedgerEntry"][];
            /** @description Whether more items follow. */
            hasMore: boolean;
            /** @description Absent on the last page. */
            nextCursor?: string;
            /** @description How many items match in all. Absent with `count=none`. */
            totalCount?: number;
            /** @description `false` if `totalCount` is an estimate; absent if it is exact. */
            totalCountIsExact?: boolean;
        };
        PaginatedLicenseClientList: {
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description The items of the list, in order. */
            data: components["schemas"]["LicenseClient"][];
            /** @description Whether more items follow. */
            hasMore: boolean;
            /** @description Absent on the last page. */
            nextCursor?: string;
            /** @description How many items match in all. Absent with `count=none`. */
            totalCount?: number;
            /** @description `false` if `totalCount` is an estimate; absent if it is exact. */
            totalCountIsExact?: boolean;
        };
        PaginatedLicenseList: {
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description The items of the list, in order. */
            data: components["schemas"]["License"][];
            /** @description Whether more items follow. */
            hasMore: boolean;
            /** @description Absent on the last page. */
            nextCursor?: string;
            /** @description How many items match in all. Absent with `count=none`. */
            totalCount?: number;
            /** @description `false` if `totalCount` is an estimate; absent if it is exact. */
            totalCountIsExact?: boolean;
        };
        PaginatedPaymentList: {
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description The items of the list, in order. */
            data: components["schemas"]["Payment"][];
            /** @description Whether more items follow. */
            hasMore: boolean;
            /** @description Absent on the last page. */
            nextCursor?: string;
            /** @description How many items match in all. Absent with `count=none`. */
            totalCount?: number;
            /** @description `false` if `totalCount` is an estimate; absent if it is exact. */
            totalCountIsExact?: boolean;
        };
        PaginatedPolicyList: {
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description The items of the list, in order. */
            data: components["schemas"]["Policy"][];
            /** @description Whether more items follow. */
            hasMore: boolean;
            /** @description Absent on the last page. */
            nextCursor?: string;
            /** @description How many items match in all. Absent with `count=none`. */
            totalCount?: number;
            /** @description `false` if `totalCount` is an estimate; absent if it is exact. */
            totalCountIsExact?: boolean;
        };
        PaginatedPolicyRevisionList: {
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description The items of the list, in order. */
            data: components["schemas"]["PolicyRevision"][];
            /** @description Whether more items follow. */
            hasMore: boolean;
            /** @description Absent on the last page. */
            nextCursor?: string;
            /** @description How many items match in all. Absent with `count=none`. */
            totalCount?: number;
            /** @description `false` if `totalCount` is an estimate; absent if it is exact. */
            totalCountIsExact?: boolean;
        };
        PaginatedRequesterProfileList: {
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description The items of the list, in order. */
            data: components["schemas"]["RequesterProfile"][];
            /** @description Whether more items follow. */
            hasMore: boolean;
            /** @description Absent on the last page. */
            nextCursor?: string;
            /** @description How many items match in all. Absent with `count=none`. */
            totalCount?: number;
            /** @description `false` if `totalCount` is an estimate; absent if it is exact. */
            totalCountIsExact?: boolean;
        };
        PaginatedSiteList: {
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description The items of the list, in order. */
            data: components["schemas"]["Site"][];
            /** @description Whether more items follow. */
            hasMore: boolean;
            /** @description Absent on the last page. */
            nextCursor?: string;
            /** @description How many items match in all. Absent with `count=none`. */
            totalCount?: number;
            /** @description `false` if `totalCount` is an estimate; absent if it is exact. */
            totalCountIsExact?: boolean;
        };
        PaginatedStatementLineList: {
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description The items of the list, in order. */
            data: components["schemas"]["StatementLine"][];
            /** @description Whether more items follow. */
            hasMore: boolean;
            /** @description Absent on the last page. */
            nextCursor?: string;
            /** @description How many items match in all. Absent with `count=none`. */
            totalCount?: number;
            /** @description `false` if `totalCount` is an estimate; absent if it is exact. */
            totalCountIsExact?: boolean;
        };
        PaginatedStatementList: {
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description The items of the list, in order. */
            data: components["schemas"]["Statement"][];
            /** @description Whether more items follow. */
            hasMore: boolean;
            /** @description Absent on the last page. */
            nextCursor?: string;
            /** @description How many items match in all. Absent with `count=none`. */
            totalCount?: number;
            /** @description `false` if `totalCount` is an estimate; absent if it is exact. */
            totalCountIsExact?: boolean;
        };
        PaginatedStatementPaymentList: {
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description The items of the list, in order. */
            data: components["schemas"]["StatementPayment"][];
            /** @description Whether more items follow. */
            hasMore: boolean;
            /** @description Absent on the last page. */
            nextCursor?: string;
            /** @description How many items match in all. Absent with `count=none`. */
            totalCount?: number;
            /** @description `false` if `totalCount` is an estimate; absent if it is exact. */
            totalCountIsExact?: boolean;
        };
        PaginatedWalletEntryList: {
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description The items of the list, in order. */
            data: components["schemas"]["WalletEntry"][];
            /** @description Whether more items follow. */
            hasMore: boolean;
            /** @description Absent on the last page. */
            nextCursor?: string;
            /** @description How many items match in all. Absent with `count=none`. */
            totalCount?: number;
            /** @description `false` if `totalCount` is an estimate; absent if it is exact. */
            totalCountIsExact?: boolean;
        };
        PaginatedWalletList: {
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description The items of the list, in order. */
            data: components["schemas"]["Wallet"][];
            /** @description Whether more items follow. */
            hasMore: boolean;
            /** @description Absent on the last page. */
            nextCursor?: string;
            /** @description How many items match in all. Absent with `count=none`. */
            totalCount?: number;
            /** @description `false` if `totalCount` is an estimate; absent if it is exact. */
            totalCountIsExact?: boolean;
        };
        PaginatedWebhookAttemptList: {
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description The items of the list, in order. */
            data: components["schemas"]["WebhookAttempt"][];
            /** @description Whether more items follow. */
            hasMore: boolean;
            /** @description Absent on the last page. */
            nextCursor?: string;
            /** @description How many items match in all. Absent with `count=none`. */
            totalCount?: number;
            /** @description `false` if `totalCount` is an estimate; absent if it is exact. */
            totalCountIsExact?: boolean;
        };
        PaginatedWebhookEndpointList: {
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description The items of the list, in order. */
            data: components["schemas"]["WebhookEndpoint"][];
            /** @description Whether more items follow. */
            hasMore: boolean;
            /** @description Absent on the last page. */
            nextCursor?: string;
            /** @description How many items match in all. Absent with `count=none`. */
            totalCount?: number;
            /** @description `false` if `totalCount` is an estimate; absent if it is exact. */
            totalCountIsExact?: boolean;
        };
        /** @description The account fields that its keys can change. */
        PatchedAccountChangeRequest: {
            /** @description Whether the edge lets visitors in at hosts that the account has no site for. Visits that it lets in are recorded as observed. Null: `allow`. */
            unknownHost?: components["schemas"]["RuleAction"] | null;
            /** @description Whether signers (Web Bot Auth) that the table of crawlers does not list can pay prices at the edge. `deny`: only with a valid licence or a wallet. */
            unlistedSigners?: components["schemas"]["UnlistedSigners"];
            /** @description How addresses of people at the edge are stored: `truncated` to /24 (IPv6: /48), or `full`. Those of crawlers are always stored in full. */
            visitorAddresses?: components["schemas"]["VisitorAddresses"];
            /**
             * Format: time-zone
             * @description IANA name. Months of refills begin by its clock. Null: UTC.
             * @example Europe/Berlin
             */
            timeZone?: string | null;
            /** @description ISO 4217. The account's own currency. */
            currency?: components["schemas"]["Currency"];
        };
        /** @description The fields of a key that can be changed; type and permissions cannot. */
        PatchedApiKeyChangeRequest: {
            /** @description A label for people. */
            name?: string;
            /** @description `public` keys can only read. */
            type?: components["schemas"]["KeyType"];
            /** @description By default `*` for a secret key, `content:read` and `policies:read` for a public one: whoever has that reads every item with its figures, and every policy with the requester ids and addresses in its rules. */
            permissions?: components["schemas"]["ApiKeyPermission"][];
            /** @description IPv4 or IPv6 addresses, or CIDR ranges without host bits. Empty: any address. Default: the addresses of the key that creates it. */
            allowedIps?: string[] | null;
            /** @description Hosts for which the key can be used at the edge; others return 403. Empty: any host. Default: the hosts of the key that creates it. Other endpoints ignore it. */
            allowedHosts?: string[] | null;
            /** @description A limit of this key, below the plan's, which applies too. Null: only the plan's. Default: that of the key that creates it. Does not apply at the edge. */
            rateLimit?: components["schemas"]["KeyRateLimitRequest"] | null;
            /** @description When the key expires; null for never. A later date makes an expired key valid again. */
            expiresAt?: string | null;
        };
        /** @description A publisher's content item, as the API shows and accepts it. */
        PatchedContentRequest: {
            /** @description The publisher's own id of the item, unique in the account. */
            externalId?: string | null;
            /** @description The item's title. */
            title?: string;
            /** @description Default: `article`. */
            type?: components["schemas"]["ContentType"];
            /**
             * Format: uri
             * @description The item's URL; of a licence, who vouches for it.
             */
            source?: string | null;
            /** @description The policy's id. */
            policyId?: string | null;
            /**
             * @description Up to 50 further keys of 1–64 characters A-Z, a-z, 0-9, `_`, `.`, `-`.
             * @example {
             *       "author": "Ada Byron",
             *       "publishedAt": "2026-01-31",
             *       "category": "finance",
             *       "wordCount": 1200
             *     }
             */
            metadata?: ({
                /** @description Who made the item. */
                author?: string | null;
                /**
                 * Format: date
                 * @description The day on which the item was published.
                 */
                publishedAt?: string | null;
                /** @description The item's category. */
                category?: string | null;
                /** @description Independent of the item's own `tags`. */
                tags?: string[] | null;
                /** @description How many words the item has. */
                wordCount?: number | null;
            } & {
                [key: string]: string | number | boolean | null;
            }) | null;
            /** @description Free labels. */
            tags?: string[] | null;
            /** @description Default: `active`. Access to an `archived` item is denied. */
            status?: components["schemas"]["ContentStatus"];
        };
        /** @description A licence: its type, scope, period and prices. */
        PatchedLicenseRequest: {
            /** @description The caller's own id. It stays. */
            requesterId?: string;
            /** @description The requester's name. Given here, it names a requester that has none, and changes no name. */
            requesterName?: string | null;
            /** @description The licence's id in your own system. Unique within the account. */
            externalId?: string | null;
            /** @description Compared by the condition `licenseType`. */
            licenseType?: string;
            /** @description The items that it covers. Without contentIds, tags and policyIds it covers all. */
            contentIds?: string[] | null;
            /** @description It also covers items that have one of these tags, */
            tags?: string[] | null;
            /** @description and items under one of these policies. */
            policyIds?: string[] | null;
            /** @description Default: `created`. Years 2000 to 2999. */
            startsAt?: string | null;
            /** @description When it ends; null for never. */
            expiresAt?: string | null;
            /** @description Recorded in the ledger when the licence is issued, dated `startsAt`. */
            price?: components["schemas"]["MoneyRequest"] | null;
            /** @description The price of each access that this licence allows. */
            pricePerAccess?: components["schemas"]["MoneyRequest"] | null;
            /** @description A recurring fee, charged in advance at the start of each period from `startsAt` until the licence ends. A change applies from the next period; null ends it. */
            fee?: components["schemas"]["FeeRequest"] | null;
            /**
             * @description Up to 50 keys of 1–64 characters A-Z, a-z, 0-9, `_`, `.`, `-`; null removes a key.
             * @example {
             *       "country": "DE",
             *       "seats": 25
             *     }
             */
            metadata?: {
                [key: string]: string | number | boolean | null;
            } | null;
        };
        /** @description The terms on which requesters may access linked items. */
        PatchedPolicyRequest: {
            /** @description The policy's id in your own system. Unique within the account. */
            externalId?: string | null;
            /** @description A name for people. */
            name?: string;
            /** @description Free text for people. */
            description?: string | null;
            /** @description Together at most 65,536 bytes of JSON without spaces. */
            rules?: components["schemas"]["Rule"][];
            /** @description What decides where no rule matches. Default: `deny`. */
            defaultAction?: components["schemas"]["RuleAction"];
            /** @description Whether decisions are enforced or only recorded. Default: `enforce`. */
            mode?: components["schemas"]["Mode"];
            /** @description Tests that every version must pass before it is saved. Absent for public keys. */
            tests?: components["schemas"]["PolicyTestRequest"][] | null;
            /**
             * @description Up to 50 keys of 1–64 characters A-Z, a-z, 0-9, `_`, `.`, `-`; null removes a key.
             * @example {
             *       "country": "DE",
             *       "seats": 25
             *     }
             */
            metadata?: {
                [key: string]: string | number | boolean | null;
            } | null;
        };
        /** @description Changes of a requester. An `id` in the body is ignored. */
        PatchedRequesterProfileChangeRequest: {
            /** @description A name for people. */
            name?: string | null;
            /**
             * Format: email
             * @description Contact address. Nothing is sent to it.
             */
            email?: string | null;
            /** @description For people. Decisions ignore it. */
            notes?: string | null;
            /**
             * @description Up to 50 keys of 1–64 characters A-Z, a-z, 0-9, `_`, `.`, `-`; null removes a key.
             * @example {
             *       "country": "DE",
             *       "seats": 25
             *     }
             */
            metadata?: {
                [key: string]: string | number | boolean | null;
            } | null;
        };
        /** @description A host whose pages are decided at the edge, as the API shows and accepts it. */
        PatchedSiteRequest: {
            /**
             * @description Lower case, without scheme and port; one site for each host.
             * @example news.example
             */
            host?: string;
            /** @description Further hosts with the same pages, such as www.publisher.example. */
            aliases?: string[] | null;
            /** @description Heading of the refusal page. Null: the host. */
            name?: string | null;
            /** @description Text of the refusal page, unless the denying rule has a message. */
            refusalMessage?: string | null;
            /**
             * Format: uri
             * @description Link of the refusal page, for example to your subscriptions. Null: no link.
             */
            linkUrl?: string | null;
            /** @description Text of the link, for example Subscribe. Null: Get access. */
            linkLabel?: string | null;
            /** @description Whether decisions are enforced or only recorded. Default: `observe`. */
            mode?: components["schemas"]["Mode"];
            /** @description What happens to pages without a policy. Default: `allow`. */
            unknown?: components["schemas"]["RuleAction"];
            /** @description Whom proxies ask about: `crawlers` (default), and people on pages that are not open to all of them; or `everyone`. For the generated files. */
            ask?: components["schemas"]["SiteAsk"];
            /** @description Your own robots.txt. Requests of crawlers that it disallows are counted as violations. Absent for public keys. */
            robotsTxt?: string | null;
            /** @description The policies of its pages. An item registered by its `source` keeps its own policy. */
            rules?: components["schemas"]["SiteRuleRequest"][] | null;
        };
        /** @description The fields of a wallet that can be changed, and those that must stay as they were read. */
        PatchedWalletChangeRequest: {
            /** @description Cannot be changed. */
            requesterId?: string;
            /** @description Cannot be changed. */
            licenseId?: string | null;
            /** @description Cannot be changed. */
            unit?: string;
            /** @description The lowest permitted balance; 0 or less. Default: 0. */
            floor?: string | null;
            /** @description Balances that an event tells of once they are passed. */
            thresholds?: components["schemas"]["ThresholdRequest"][] | null;
            /** @description What comes again each period; null for nothing. */
            refill?: components["schemas"]["RefillRequest"] | null;
        };
        /** @description A URL that receives the account's events. */
        PatchedWebhookEndpointRequest: {
            /**
             * Format: uri
             * @description `https`, port 443, a public address.
             */
            url?: string;
            /** @description Event types, groups such as `content.*`, or `*` (default). */
            events?: components["schemas"]["EventPattern"][] | null;
            /** @description Free text for people. */
            description?: string | null;
            /** @description Filters `access.denied` and `access.allowed` events. Null: all. */
            accessFilter?: components["schemas"]["AccessFilterRequest"] | null;
            /** @description Default: `enabled`. */
            status?: components["schemas"]["WebhookStatus"];
            /** @description Sent with each delivery, for example for authentication. Stored encrypted, never shown. */
            headers?: {
                [key: string]: string;
            } | null;
        };
        PayingRequester: {
            /** @description The requester's id as the caller gives it. */
            id: string;
            /** @description A name for people. */
            name: string | null;
            /**
             * Format: decimal
             * @description The amount, in the report's currency.
             */
            revenue: string;
        };
        /** @description Money that a requester paid, or was given back. */
        Payment: {
            /** @description The resource's id. */
            readonly id: string;
            /** @description The kind of the object. */
            readonly object: "payment" | (string & {});
            /** @description The requester's id, as the publisher calls them. */
            requesterId: string;
            /** @description The requester's current name. */
            readonly requesterName: string | null;
            /** @description `payment` (default), or `payout`: money given back to the requester. */
            kind: "payment" | "payout" | (string & {});
            /**
             * Format: decimal
             * @description An exact decimal, as a number or a string.
             */
            amount: string;
            /** @description ISO 4217. */
            currency: string;
            /**
             * Format: date-time
             * @description Default: now.
             */
            receivedAt: string | null;
            /** @description Your own id. Each id is recorded once. */
            externalId: string | null;
            /** @description For your own records. */
            note: string | null;
            /** @description The credit that it paid for. */
            readonly grantId: string | null;
            /**
             * Format: date-time
             * @description Statements count the void in this month.
             */
            readonly voidedAt: string | null;
            /** @description Why it was voided. */
            readonly voidReason: string | null;
            /**
             * Format: date-time
             * @description When it was recorded. Statements count it in this month.
             */
            readonly created: string;
        };
        /** @description Money that a requester paid, or was given back. */
        PaymentRequest: {
            /** @description The requester's id, as the publisher calls them. */
            requesterId: string;
            /**
             * @description `payment` (default), or `payout`: money given back to the requester.
             * @enum {string}
             */
            kind?: "payment" | "payout";
            /** @description A number or a decimal in a string, with up to 6 places. */
            amount: string;
            /** @description ISO 4217. */
            currency: components["schemas"]["Currency"];
            /** @description Default: now. */
            receivedAt?: string | null;
            /** @description Your own id. Each id is recorded once. */
            externalId?: string | null;
            /** @description For your own records. */
            note?: string | null;
        };
        Permissions: string[];
        PermissionsShown: string[];
        /** @description The terms on which requesters may access linked items. */
        Policy: {
            /** @description The resource's id. */
            readonly id: string;
            /** @description The kind of the object. */
            readonly object: "policy" | (string & {});
            /** @description The policy's id in your own system. Unique within the account. */
            externalId: string | null;
            /** @description A name for people. */
            name: string;
            /** @description Free text for people. */
            description: string | null;
            /** @description Together at most 65,536 bytes of JSON without spaces. */
            rules: components["schemas"]["RuleShown"][];
            /** @description What decides where no rule matches. Default: `deny`. */
            defaultAction: "allow" | "deny" | (string & {});
            /** @description Whether decisions are enforced or only recorded. Default: `enforce`. */
            mode: "disabled" | "enforce" | "observe" | (string & {});
            /** @description Tests that every version must pass before it is saved. Absent for public keys. */
            tests?: components["schemas"]["PolicyTest"][];
            /**
             * @description Up to 50 keys of 1–64 characters A-Z, a-z, 0-9, `_`, `.`, `-`; null removes a key.
             * @example {
             *       "country": "DE",
             *       "seats": 25
             *     }
             */
            metadata?: {
                [key: string]: string | number | boolean | null;
            };
            /** @description The revision, counted from 1. */
            readonly version: number;
            /**
             * Format: date-time
             * @description When it was created.
             */
            readonly created: string;
            /**
             * Format: date-time
             * @description Present after an update.
             */
            readonly updated?: string;
        };
        /** @description The outcome of a row. */
        PolicyBulkOutcome: {
            /** @description Index of the row in `items`, from 0. */
            index: number;
            /** @description `201` created, `200` changed or already so, `422` a fault of the row or a failing test, `409` a policy that an earlier row is about, or an `externalId` that another policy has. */
            status: number;
            /** @description Null if the row has an error. */
            policy: components["schemas"]["Policy"] | null;
            /** @description As the row would be answered alone. */
            error: components["schemas"]["ErrorShown"] | null;
        };
        PolicyBulkOutcomes: {
            /** @description The items of the list, in order. */
            data: components["schemas"]["PolicyBulkOutcome"][];
            /** @description The kind of the object. */
            object: "list" | (string & {});
            /** @description Always false. */
            hasMore: boolean;
            /** @description Number of rows in the request. */
            totalCount: number;
        };
        /** @description Policies to create or change. */
        PolicyBulkRequest: {
            /** @description The rows: each a new item or a change of one. */
            items: components["schemas"]["PolicyBulkRowRequest"][];
        };
        /** @description A policy to create, or changes to the one named by `id` or `externalId`. */
        PolicyBulkRowRequest: {
            /** @description The policy to change, as by PATCH. */
            id?: string | null;
            /** @description The policy's id in your own system. Unique within the account. */
            externalId?: string | null;
            /** @description Required when creating a policy. */
            name?: string;
            /** @description Free text for people. */
            description?: string | null;
            /** @description Together at most 65,536 bytes of JSON without spaces. */
            rules?: components["schemas"]["Rule"][];
            /** @description What decides where no rule matches. Default: `deny`. */
            defaultAction?: components["schemas"]["RuleAction"];
            /** @description Whether decisions are enforced or only recorded. Default: `enforce`. */
            mode?: components["schemas"]["Mode"];
            /** @description Tests that every version must pass before it is saved. Absent for public keys. */
            tests?: components["schemas"]["PolicyTestRequest"][] | null;
            /**
             * @description Up to 50 keys of 1–64 characters A-Z, a-z, 0-9, `_`, `.`, `-`; null removes a key.
             * @example {
             *       "country": "DE",
             *       "seats": 25
             *     }
             */
            metadata?: {
                [key: string]: string | number | boolean | null;
            } | null;
        };
        /** @description The terms on which requesters may access linked items. */
        PolicyRequest: {
            /** @description The policy's id in your own system. Unique within the account. */
            externalId?: string | null;
            /** @description A name for people. */
            name: string;
            /** @description Free text for people. */
            description?: string | null;
            /** @description Together at most 65,536 bytes of JSON without spaces. */
            rules?: components["schemas"]["Rule"][];
            /** @description What decides where no rule matches. Default: `deny`. */
            defaultAction?: components["schemas"]["RuleAction"];
            /** @description Whether decisions are enforced or only recorded. Default: `enforce`. */
            mode?: components["schemas"]["Mode"];
            /** @description Tests that every version must pass before it is saved. Absent for public keys. */
            tests?: components["schemas"]["PolicyTestRequest"][] | null;
            /**
             * @description Up to 50 keys of 1–64 characters A-Z, a-z, 0-9, `_`, `.`, `-`; null removes a key.
             * @example {
             *       "country": "DE",
             *       "seats": 25
             *     }
             */
            metadata?: {
                [key: string]: string | number | boolean | null;
            } | null;
        };
        /**
         * @description A version of a policy. `updated` is when it was stored; absent for the first version.
         *
         *     `externalId` and `metadata` are the policy's current ones: versions do not keep them.
         */
        PolicyRevision: {
            /** @description The resource's id. */
            readonly id: string;
            /** @description The kind of the object. */
            readonly object: "policy" | (string & {});
            /** @description The policy's id in your own system. Unique within the account. */
            externalId: string | null;
            /** @description A name for people. */
            name: string;
            /** @description Free text for people. */
            description: string | null;
            /** @description Together at most 65,536 bytes of JSON without spaces. */
            rules: components["schemas"]["RuleShown"][];
            /** @description What decides where no rule matches. Default: `deny`. */
            defaultAction: "allow" | "deny" | (string & {});
            /** @description Whether decisions are enforced or only recorded. Default: `enforce`. */
            mode: "disabled" | "enforce" | "observe" | (string & {});
            /** @description Tests that every version must pass before it is saved. Absent for public keys. */
            tests?: components["schemas"]["PolicyTest"][];
            /**
             * @description Up to 50 keys of 1–64 characters A-Z, a-z, 0-9, `_`, `.`, `-`; null removes a key.
             * @example {
             *       "country": "DE",
             *       "seats": 25
             *     }
             */
            metadata?: {
                [key: string]: string | number | boolean | null;
            };
            /** @description The revision, counted from 1. */
            readonly version: number;
            /**
             * Format: date-time
             * @description When it was created.
             */
            readonly created: string;
            /**
             * Format: date-time
             * @description Present after an update.
             */
            readonly updated?: string;
        };
        /** @description An example request with its expected decision, run before each version is stored. */
        PolicyTest: {
            /** @description What the test shows. */
            name?: string | null;
            /** @description The requester. */
            requester: components["schemas"]["RequesterOfTest"];
            /** @description The item's facts. */
            content?: components["schemas"]["ContentOfTest"] | null;
            /**
             * @description What the requester wants to do.
             * @example commercial_use
             */
            permission?: string | null;
            /** @description The time of the test check. Default: now. */
            at?: string | null;
            /** @description The expected decision. */
            expect: components["schemas"]["ExpectedDecision"];
            /** @description The circumstances. */
            context?: components["schemas"]["ContextOfTest"] | null;
        };
        /** @description An example request with its expected decision, run before each version is stored. */
        PolicyTestRequest: {
            /** @description What the test shows. */
            name?: string | null;
            /** @description The requester. */
            requester: components["schemas"]["RequesterOfTestRequest"];
            /** @description The item's facts. */
            content?: components["schemas"]["ContentOfTestRequest"] | null;
            /**
             * @description What the requester wants to do.
             * @example commercial_use
             */
            permission?: string | null;
            /** @description The time of the test check. Default: now. */
            at?: string | null;
            /** @description The expected decision. */
            expect: components["schemas"]["ExpectedDecisionRequest"];
            /** @description The circumstances. */
            context?: components["schemas"]["ContextOfTestRequest"] | null;
        };
        /** @description A link with which a requester reads its own licences, credit and statements. */
        PortalSession: {
            /** @description The kind of the object. */
            readonly object: "portal_session" | (string & {});
            /** @description The requester's id, as the publisher calls them. */
            readonly requesterId: string;
            /** @description What the pages show; by default everything. `statements` needs `revenue:read`. */
            scopes: ("licenses" | "wallets" | "statements" | (string & {}))[];
            /**
             * Format: uri
             * @description Where the portal's link back to your site leads.
             */
            returnUrl: string | null;
            /** @description The link. Anyone who has it can open the portal, once. */
            readonly url: string;
            /**
             * Format: date-time
             * @description When the link ends. A session lasts 24 hours.
             */
            readonly expiresAt: string;
        };
        /** @description A link with which a requester reads its own licences, credit and statements. */
        PortalSessionRequest: {
            /** @description What the pages show; by default everything. `statements` needs `revenue:read`. */
            scopes?: ("licenses" | "wallets" | "statements")[] | null;
            /**
             * Format: uri
             * @description Where the portal's link back to your site leads.
             */
            returnUrl?: string | null;
        };
        /** @description An amount above 0 in a currency. */
        Price: {
            /**
             * Format: decimal
             * @description An exact decimal, as a number or a string.
             */
            amount: string;
            /** @description ISO 4217. */
            currency: string;
        };
        /** @description An amount above 0 in a currency. */
        PriceRequest: {
            /** @description A number or a decimal in a string, with up to 6 places. */
            amount: string;
            /** @description ISO 4217. */
            currency: components["schemas"]["Currency"];
        };
        /** @description The file for a site's proxy. */
        ProxyConfig: {
            /** @description The kind of the object. */
            object: "proxy_config" | (string & {});
            /** @description The site. */
            siteId: string;
            /** @description The proxy that reads the file. */
            proxy: "nginx" | "caddy" | "traefik" | "envoy" | (string & {});
            /** @description Usual name of the file. */
            fileName: string;
            /** @description The file, with a placeholder for the key. */
            content: string;
            /** @description Patterns whose pages stay open while the service is down. `/*` includes pages without a pattern. */
            openPatterns: string[];
            /** @description Open patterns that do not stay open. */
            omitted: components["schemas"]["OmittedPattern"][];
        };
        /** @description How often the rule allows, for each requester or visitor. */
        RateLimit: {
            /** @description How many requests. */
            requests: number;
            period: components["schemas"]["RateLimitPeriod"];
            /**
             * @description Default: `requester`. `visitor` counts readers who are not signed in apart: by a cookie at the edge, by `context.visitorId` in checks, otherwise by their address.
             * @enum {string}
             */
            per?: "requester" | "visitor";
        };
        /** @enum {string} */
        RateLimitPeriod: "second" | "minute" | "hour" | "day" | "week" | "month";
        /** @description How often the rule allows, for each requester or visitor. */
        RateLimitShown: {
            /** @description How many requests. */
            requests: number;
            /** @description The length of the window. */
            period: "second" | "minute" | "hour" | "day" | "week" | "month" | (string & {});
            /** @description Default: `requester`. `visitor` counts readers who are not signed in apart: by a cookie at the edge, by `context.visitorId` in checks, otherwise by their address. */
            per?: "requester" | "visitor" | (string & {});
        };
        /** @enum {string} */
        Reason: "content_archived" | "credits_exhausted" | "host_not_allowed" | "license_expired" | "no_license" | "no_policy" | "permission_not_granted" | "policy_denied" | "quota_exceeded" | "rate_limit_exceeded";
        ReasonCount: {
            /** @description Why access was denied. */
            reason: "content_archived" | "credits_exhausted" | "host_not_allowed" | "license_expired" | "no_license" | "no_policy" | "permission_not_granted" | "policy_denied" | "quota_exceeded" | "rate_limit_exceeded" | (string & {});
            /** @description Until this moment, exclusively. */
            before: number;
            /** @description From this moment on. */
            after: number;
        };
        /** @description The events that a recovery sends again. */
        Recovered: {
            /** @description The kind of the object. */
            object: "webhook_recovery" | (string & {});
            /** @description The webhook endpoint. */
            webhookId: string;
            /**
             * Format: date-time
             * @description `since` of the request. Null: only deliveries that failed or wait for a retry are sent.
             */
            since: string | null;
            /** @description As requested. */
            dryRun: boolean;
            /** @description Number of events sent again. */
            events: number;
            /** @description The oldest event; null if there are none. */
            firstEvent: components["schemas"]["RecoveredEvent"] | null;
            /** @description The newest event; null if there are none. */
            lastEvent: components["schemas"]["RecoveredEvent"] | null;
        };
        /** @description The first or the last event of a recovery. */
        RecoveredEvent: {
            /** @description The resource's id. */
            id: string;
            /** @description The kind of it. */
            type: "access.allowed" | "access.denied" | "api_key.created" | "api_key.expiring" | "api_key.revoked" | "api_key.rotated" | "api_key.updated" | "content.archived" | "content.created" | "content.deleted" | "content.updated" | "grant.expiring" | "import.finished" | "license.created" | "license.expired" | "license.expiring" | "license.revoked" | "license.updated" | "limit.reached" | "payment.created" | "payment.voided" | "ping" | "policy.created" | "policy.deleted" | "policy.rolled_back" | "policy.updated" | "requester.updated" | "revenue.adjusted" | "wallet.exhausted" | "wallet.low" | "wallet.topped_up" | "webhook_endpoint.disabled" | (string & {});
            /**
             * Format: date-time
             * @description When it was created.
             */
            created: string;
        };
        /** @description Which events to send again. */
        RecoveryRequest: {
            /** @description Sends every event from this time on that the endpoint subscribes to and did not get, also events from before it was created. Without it, only deliveries that were queued and failed are sent, with those that wait for a retry. */
            since?: string | null;
            /** @description Report the events without sending them. Default: false. */
            dryRun?: boolean | null;
        };
        /** @description The endpoint that gets the event. */
        RedeliveryRequest: {
            /** @description The endpoint to send the event to again. */
            webhookId: string;
        };
        /** @description A referring host of an AI or search service. */
        ReferrerShown: {
            /** @description The host as listed in the referrer table. `google.*` covers all country domains. */
            host: string;
            /** @description The service. Null if the table no longer lists the host. */
            name: string | null;
            /** @description Who runs it. */
            operator: string | null;
            /** @description What it is. */
            kind: "ai" | "search" | (string & {}) | null;
            /** @description Readers sent by this host. */
            referrals: number;
        };
        /** @description Credit that is added each period; the rest expires with the period, except what rolls over. */
        Refill: {
            /**
             * Format: decimal
             * @description An exact decimal, as a number or a string.
             */
            amount: string;
            /** @description The length of a period. */
            every: "day" | "week" | "month" | "year" | (string & {});
            /**
             * Format: date-time
             * @description Start of a period. Default: when the refill was set. Days and months are counted in the account's `timeZone`; an offset only names the moment.
             */
            anchor: string;
            /** @description What stays when the next refill comes. Default: nothing. */
            rollover: components["schemas"]["Rollover"];
        };
        /** @enum {string} */
        RefillPeriod: "day" | "week" | "month" | "year";
        /** @description Credit that is added each period; the rest expires with the period, except what rolls over. */
        RefillRequest: {
            /** @description A number or a decimal in a string, with up to 6 places. */
            amount: string;
            every: components["schemas"]["RefillPeriod"];
            /** @description Start of a period. Default: when the refill was set. Days and months are counted in the account's `timeZone`; an offset only names the moment. */
            anchor?: string | null;
            /** @description What stays when the next refill comes. Default: nothing. */
            rollover?: components["schemas"]["RolloverRequest"] | null;
        };
        /** @description A refund of a charge, named by exactly one of `entryId`, `licenseId` and `decisionId`. */
        RefundRequest: {
            /** @description The entry of the charge or fee. */
            entryId?: string | null;
            /** @description Refunds its price. */
            licenseId?: string | null;
            /** @description Refunds this access. */
            decisionId?: string | null;
            /** @description In the charge's currency. Default: all that is left. */
            amount?: string | null;
            /** @description Becomes the entry's `description`. */
            reason?: string | null;
            /** @description Your own id. Each id is booked once. */
            externalId?: string | null;
        };
        Requester: {
            /** @description The resource's id. */
            id: string;
            /** @description A name for people. */
            name?: string | null;
            /** @description Requester facts for conditions on `attributes`. Default: the requester's `metadata`. */
            attributes?: {
                [key: string]: string | number | boolean;
            } | null;
            /** @description Asserted by the caller. */
            licenseType?: string | null;
            /** @description Asserted by the caller. */
            hasValidLicense?: boolean | null;
        };
        RequesterIds: string[];
        /** @description The requester of a test. `licenses` that have started override the caller's claims, as in a check. */
        RequesterOfTest: {
            /** @description The resource's id. */
            id: string;
            /** @description Asserted by the caller. */
            licenseType?: string | null;
            /** @description Asserted by the caller. */
            hasValidLicense?: boolean | null;
            /** @description The service's own licences for the requester and the item. */
            licenses?: components["schemas"]["HeldLicenseOfTest"][] | null;
            /** @description Requester facts for conditions on `attributes`. Default: the requester's `metadata`. */
            attributes?: {
                [key: string]: string | number | boolean;
            } | null;
        };
        /** @description The requester of a test. `licenses` that have started override the caller's claims, as in a check. */
        RequesterOfTestRequest: {
            /** @description The resource's id. */
            id: string;
            /** @description Asserted by the caller. */
            licenseType?: string | null;
            /** @description Asserted by the caller. */
            hasValidLicense?: boolean | null;
            /** @description The service's own licences for the requester and the item. */
            licenses?: components["schemas"]["HeldLicenseOfTestRequest"][] | null;
            /** @description Requester facts for conditions on `attributes`. Default: the requester's `metadata`. */
            attributes?: {
                [key: string]: string | number | boolean;
            } | null;
        };
        /** @description Whoever decisions are about: a customer, an organisation, a reader or a crawler, by your own id. */
        RequesterProfile: {
            /** @description Your own id. It cannot be changed. */
            id: string;
            /** @description The kind of the object. */
            readonly object: "requester" | (string & {});
            /** @description A name for people. */
            name: string | null;
            /**
             * Format: email
             * @description Contact address. Nothing is sent to it.
             */
            email: string | null;
            /** @description For people. Decisions ignore it. */
            notes: string | null;
            /**
             * @description Up to 50 keys of 1–64 characters A-Z, a-z, 0-9, `_`, `.`, `-`; null removes a key.
             * @example {
             *       "country": "DE",
             *       "seats": 25
             *     }
             */
            metadata: {
                [key: string]: string | number | boolean | null;
            };
            /** @description The requester that it was merged into, if any. */
            readonly mergedInto?: string;
            /**
             * Format: date-time
             * @description When it was created.
             */
            readonly created: string;
            /**
             * Format: date-time
             * @description Null until the first change.
             */
            readonly updated: string | null;
            /** @description Only in replies about a single requester. */
            readonly stats?: components["schemas"]["RequesterStats"];
        };
        /** @description Whoever decisions are about: a customer, an organisation, a reader or a crawler, by your own id. */
        RequesterProfileRequest: {
            /** @description Your own id. It cannot be changed. */
            id: string;
            /** @description A name for people. */
            name?: string | null;
            /**
             * Format: email
             * @description Contact address. Nothing is sent to it.
             */
            email?: string | null;
            /** @description For people. Decisions ignore it. */
            notes?: string | null;
            /**
             * @description Up to 50 keys of 1–64 characters A-Z, a-z, 0-9, `_`, `.`, `-`; null removes a key.
             * @example {
             *       "country": "DE",
             *       "seats": 25
             *     }
             */
            metadata?: {
                [key: string]: string | number | boolean | null;
            } | null;
        };
        /** @description The requester of a decision. Recorded decisions include the facts that the caller sent. */
        RequesterShown: {
            /** @description The resource's id. */
            id: string;
            /** @description A name for people. */
            name: string | null;
            /** @description Requester facts for conditions on `attributes`. Default: the requester's `metadata`. */
            attributes?: {
                [key: string]: string | number | boolean;
            };
        };
        /** @description Counts of the requester's decisions. */
        RequesterStats: {
            /** @description Whether access is allowed; in figures, how many requests were. */
            allowed: number;
            /** @description How many requests were denied. */
            denied: number;
            /**
             * Format: date-time
             * @description Time of the latest decision; null if there is none.
             */
            lastSeenAt: string | null;
        };
        RevenueBucket: {
            /**
             * Format: date
             * @description First day of the bucket: the day, the Monday of the week or the first of the month.
             */
            date: string;
            /**
             * Format: decimal
             * @description The amount, in the report's currency.
             */
            revenue: string;
        };
        /**
         * @description Amounts are in the summary's currency, each rounded separately (half to even) to its minor unit.
         *
         *     `byCurrency` and `unconverted` have exact amounts as booked.
         */
        RevenueReport: {
            summary: components["schemas"]["RevenueSummary"];
            /** @description All buckets of the window, oldest first, including empty ones. */
            timeSeries: components["schemas"]["RevenueBucket"][];
            /** @description By licence type; `other` is what belongs to none. Where a licence type is called `other`, that has the name, and what belongs to none is under the empty one. */
            byLicenseType: {
                [key: string]: string;
            };
            /** @description At most `top`, by revenue, then by id. */
            byRequester: components["schemas"]["PayingRequester"][];
            /** @description At most `top`, by revenue, then by id. */
            byContent: components["schemas"]["EarningContent"][];
            /** @description All entries, by the currency in which they were booked. */
            byCurrency: components["schemas"]["BookedAmount"][];
            /** @description Entries without an exchange rate. All figures except `byCurrency` leave them out. */
            unconverted: components["schemas"]["UnconvertedAmount"][];
        };
        RevenueSummary: {
            /**
             * Format: decimal
             * @description The sum.
             */
            total: string;
            /** @description ISO 4217, such as `EUR`. */
            currency: string;
            /**
             * Format: decimal
             * @description Change from the preceding window of equal length. Null if that total was 0.
             */
            changePercent: string;
            /**
             * Format: decimal
             * @description `total` ÷ elapsed days × 30.
             */
            projectedMonthly: string;
        };
        /** @description A former version of the policy. */
        RollbackRequest: {
            /** @description The version to return to. */
            version: number;
        };
        /** @description Unused credit of a refill that is kept at the next one: at most `max`, and at least `min`. */
        Rollover: {
            /**
             * Format: decimal
             * @description At least so much is there beside the refill.
             */
            min: string;
            /**
             * Format: decimal
             * @description At most so much rolls over.
             */
            max: string;
        };
        /** @description Unused credit of a refill that is kept at the next one: at most `max`, and at least `min`. */
        RolloverRequest: {
            /** @description A number or a decimal in a string, with up to 6 places. */
            min?: string | null;
            /** @description A number or a decimal in a string, with up to 6 places. */
            max?: string | null;
        };
        /** @description How long the old key stays valid. */
        RotationRequest: {
            /** @description For how long the old key keeps working. Default: 0. */
            overlapSeconds?: number | null;
        };
        /**
         * @description Allows or denies where its conditions hold.
         * @example {
         *       "action": "allow",
         *       "priority": 1,
         *       "conditions": {
         *         "licenseType": [
         *           "commercial",
         *           "enterprise"
         *         ],
         *         "hasValidLicense": true
         *       },
         *       "permissions": [
         *         "full_access"
         *       ],
         *       "rateLimit": {
         *         "requests": 100,
         *         "period": "hour"
         *       }
         *     }
         */
        Rule: components["schemas"]["AllowRule"] | components["schemas"]["DenyRule"];
        /** @enum {string} */
        RuleAction: "allow" | "deny";
        RuleRateLimit: {
            /** @description How many requests. */
            requests: number;
            /** @description The length of the window. */
            period: "second" | "minute" | "hour" | "day" | "week" | "month" | (string & {});
            /** @description How many requests are left in the window. */
            remaining: number;
            /** @description Unix seconds. */
            reset: number;
            /** @description Seconds, if the limit is used up. */
            retryAfter: number | null;
        };
        /**
         * @description Allows or denies where its conditions hold.
         * @example {
         *       "action": "allow",
         *       "priority": 1,
         *       "conditions": {
         *         "licenseType": [
         *           "commercial",
         *           "enterprise"
         *         ],
         *         "hasValidLicense": true
         *       },
         *       "permissions": [
         *         "full_access"
         *       ],
         *       "rateLimit": {
         *         "requests": 100,
         *         "period": "hour"
         *       }
         *     }
         */
        RuleShown: {
            /** @description What is done: allowed or denied, or in the audit log what was changed. */
            action: "allow" | "deny" | (string & {});
            /** @description Lower ones are tried first; a missing one last. */
            priority?: number;
            conditions: components["schemas"]["ConditionsShown"];
            /** @description Comes with the decision. */
            message?: string;
            /** @description What the rule grants; `full_access` grants all. */
            permissions?: string[];
            rateLimit?: components["schemas"]["RateLimitShown"];
            /** @description What an access costs whoever holds no licence that the rule allows. */
            pricePerAccess?: {
                /** @description More than 0, at most 1,000,000, with at most six places. */
                amount: string;
                /** @description ISO 4217, such as `EUR`. */
                currency: string;
            };
        };
        /**
         * @description The check is within these days and hours, in this time zone.
         * @example {
         *       "days": [
         *         "mon",
         *         "tue",
         *         "wed",
         *         "thu",
         *         "fri"
         *       ],
         *       "from": "09:00",
         *       "to": "18:00",
         *       "timeZone": "Europe/Berlin"
         *     }
         */
        Schedule: {
            /** @description Every day, unless given. Hours across midnight belong to the day on which they begin. */
            days?: components["schemas"]["Weekday"] | components["schemas"]["Weekdays"];
            /**
             * @description With `to`; without both it is the whole day.
             * @example 09:00
             */
            from?: string;
            /**
             * @description Not part of the hours. Earlier than `from`: on the next day.
             * @example 09:00
             */
            to?: string;
            /**
             * Format: time-zone
             * @description Of the IANA time zone database, as `Europe/Berlin`.
             * @example Europe/Berlin
             */
            timeZone: string;
        };
        /**
         * @description The check is within these days and hours, in this time zone.
         * @example {
         *       "days": [
         *         "mon",
         *         "tue",
         *         "wed",
         *         "thu",
         *         "fri"
         *       ],
         *       "from": "09:00",
         *       "to": "18:00",
         *       "timeZone": "Europe/Berlin"
         *     }
         */
        ScheduleShown: {
            /** @description Every day, unless given. Hours across midnight belong to the day on which they begin. */
            days?: ("mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun" | (string & {})) | components["schemas"]["WeekdaysShown"];
            /**
             * @description With `to`; without both it is the whole day.
             * @example 09:00
             */
            from?: string;
            /**
             * @description Not part of the hours. Earlier than `from`: on the next day.
             * @example 09:00
             */
            to?: string;
            /**
             * Format: time-zone
             * @description Of the IANA time zone database, as `Europe/Berlin`.
             * @example Europe/Berlin
             */
            timeZone: string;
        };
        /** @description A URL that receives the account's events. */
        Secret: {
            /** @description The resource's id. */
            readonly id: string;
            /** @description The kind of the object. */
            readonly object: "webhook_endpoint" | (string & {});
            /**
             * Format: uri
             * @description `https`, port 443, a public address.
             */
            url: string;
            /** @description Event types, groups such as `content.*`, or `*` (default). */
            events: ("*" | "access.*" | "api_key.*" | "content.*" | "grant.*" | "import.*" | "license.*" | "limit.*" | "payment.*" | "policy.*" | "requester.*" | "revenue.*" | "wallet.*" | "webhook_endpoint.*" | "content.created" | "content.archived" | "content.updated" | "content.deleted" | "policy.created" | "policy.updated" | "policy.rolled_back" | "policy.deleted" | "api_key.created" | "api_key.updated" | "api_key.rotated" | "api_key.revoked" | "api_key.expiring" | "requester.updated" | "license.created" | "license.updated" | "license.revoked" | "license.expiring" | "license.expired" | "wallet.low" | "wallet.exhausted" | "wallet.topped_up" | "grant.expiring" | "revenue.adjusted" | "payment.created" | "payment.voided" | "import.finished" | "access.denied" | "access.allowed" | "limit.reached" | "webhook_endpoint.disabled" | (string & {}))[];
            /** @description Free text for people. */
            description: string | null;
            /** @description Filters `access.denied` and `access.allowed` events. Null: all. */
            accessFilter: components["schemas"]["AccessFilter"] | null;
            /** @description Default: `enabled`. */
            status: "enabled" | "disabled" | (string & {});
            /** @description Why the service disabled the endpoint; null if it did not. */
            readonly disabledReason: string | null;
            /** @description The names of `headers`. */
            readonly headerNames: string[];
            /**
             * Format: date-time
             * @description Null while deliveries succeed.
             */
            readonly failingSince: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            readonly created: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            readonly updated: string;
            /** @description Signs the deliveries. Shown only in this reply. */
            readonly secret: string;
        };
        /** @description The body of a secret rotation. */
        SecretRotationRequest: {
            /** @description How long the old secret keeps working. Default: 0. */
            overlapSeconds?: number | null;
        };
        /** @description An event as endpoints get it. */
        SentEvent: {
            /** @description The resource's id. */
            id: string;
            /** @description The kind of the object. */
            object: "event" | (string & {});
            /** @description The kind of it. */
            type: "access.allowed" | "access.denied" | "api_key.created" | "api_key.expiring" | "api_key.revoked" | "api_key.rotated" | "api_key.updated" | "content.archived" | "content.created" | "content.deleted" | "content.updated" | "grant.expiring" | "import.finished" | "license.created" | "license.expired" | "license.expiring" | "license.revoked" | "license.updated" | "limit.reached" | "payment.created" | "payment.voided" | "ping" | "policy.created" | "policy.deleted" | "policy.rolled_back" | "policy.updated" | "requester.updated" | "revenue.adjusted" | "wallet.exhausted" | "wallet.low" | "wallet.topped_up" | "webhook_endpoint.disabled" | (string & {});
            /**
             * Format: date-time
             * @description When it was created.
             */
            created: string;
            /** @description The resource as the API returned it at that time. */
            data: {
                [key: string]: unknown;
            };
            /** @description On updates: the fields that changed, with their former values. */
            previous?: {
                [key: string]: unknown;
            };
            /**
             * Format: date-time
             * @description The same as `created`.
             */
            timestamp: string;
        };
        SimulatedVerdict: {
            /** @description Whether access is allowed; in figures, how many requests were. */
            allowed: boolean;
            /** @description Why access was denied. */
            reason: ("content_archived" | "credits_exhausted" | "host_not_allowed" | "license_expired" | "no_license" | "no_policy" | "permission_not_granted" | "policy_denied" | "quota_exceeded" | "rate_limit_exceeded" | (string & {})) | null;
            /** @description Index of the rule; null for the default action. */
            matchedRule: number | null;
        };
        /** @description How a policy would have decided recorded checks. */
        Simulation: {
            /** @description The kind of the object. */
            object: "policy_simulation" | (string & {});
            /** @description The policy's id. */
            policyId: string;
            /** @description Null if a draft was simulated. */
            policyVersion: number | null;
            /**
             * Format: date-time
             * @description The first day or moment of the window.
             */
            startDate: string;
            /**
             * Format: date-time
             * @description Inclusive.
             */
            endDate: string;
            /**
             * Format: date-time
             * @description The first decision that was counted.
             */
            since: string | null;
            /** @description Whether the window has older decisions, before `since`. */
            truncated: boolean;
            /** @description The sum. */
            total: number;
            /** @description Allowed before and after, or denied both times. */
            unchanged: number;
            /** @description How many allowed requests would be denied. */
            allowedToDenied: number;
            /** @description How many denied requests would be allowed. */
            deniedToAllowed: number;
            /** @description Unchanged denials with a different reason. */
            reasonChanged: number;
            /** @description How many for each reason. */
            byReason: components["schemas"]["ReasonCount"][];
            /** @description The ten with the most changes. */
            byRequester: components["schemas"]["MovedRequester"][];
            /** @description The ten with the most changes. */
            byContent: components["schemas"]["MovedContent"][];
            /** @description The charges of decisions that would be denied. */
            revenueAtStake: components["schemas"]["Money"][];
            /** @description The newest five of each kind of change. */
            examples: components["schemas"]["ChangedDecision"][];
        };
        /** @description The body of a simulation. Fields missing from the draft are taken from the saved policy. */
        SimulationBodyRequest: {
            /** @description Together at most 65,536 bytes of JSON without spaces. */
            rules?: components["schemas"]["Rule"][];
            /** @description What decides where no rule matches. Default: `deny`, in a simulation that of the policy. */
            defaultAction?: components["schemas"]["RuleAction"];
            /**
             * @description Whole UTC days that end today. Default: `30d`.
             * @enum {string}
             */
            period?: "7d" | "30d" | "90d" | "year" | "all";
            /** @description Overrides `period`. Inclusive. */
            startDate?: string | null;
            /** @description Inclusive. A date means the whole day. */
            endDate?: string | null;
            /** @description The newest so many decisions are replayed. Default: 100,000. */
            limit?: number | null;
        };
        /** @description A host whose pages are decided at the edge, as the API shows and accepts it. */
        Site: {
            /** @description The resource's id. */
            readonly id: string;
            /** @description The kind of the object. */
            readonly object: "site" | (string & {});
            /**
             * @description Lower case, without scheme and port; one site for each host.
             * @example news.example
             */
            host: string;
            /** @description Further hosts with the same pages, such as www.publisher.example. */
            aliases: string[];
            /** @description Heading of the refusal page. Null: the host. */
            name: string | null;
            /** @description Text of the refusal page, unless the denying rule has a message. */
            refusalMessage: string | null;
            /**
             * Format: uri
             * @description Link of the refusal page, for example to your subscriptions. Null: no link.
             */
            linkUrl: string | null;
            /** @description Text of the link, for example Subscribe. Null: Get access. */
            linkLabel: string | null;
            /** @description Whether decisions are enforced or only recorded. Default: `observe`. */
            mode: "disabled" | "enforce" | "observe" | (string & {});
            /** @description What happens to pages without a policy. Default: `allow`. */
            unknown: "allow" | "deny" | (string & {});
            /** @description Whom proxies ask about: `crawlers` (default), and people on pages that are not open to all of them; or `everyone`. For the generated files. */
            ask: "crawlers" | "everyone" | (string & {});
            /** @description Your own robots.txt. Requests of crawlers that it disallows are counted as violations. Absent for public keys. */
            robotsTxt?: string | null;
            /** @description The policies of its pages. An item registered by its `source` keeps its own policy. */
            rules: components["schemas"]["SiteRule"][];
            /**
             * Format: date-time
             * @description When the host was verified as the account's; null if it is not.
             */
            readonly verifiedAt: string | null;
            readonly verification: components["schemas"]["Verification"];
            /**
             * Format: date-time
             * @description When it was created.
             */
            readonly created: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            readonly updated: string;
            /** @description Hosts without a site that visitors asked for in the last 30 days. Only in the reply to a PATCH that enforces the site. */
            readonly uncoveredHosts?: string[];
            /** @description True if the file for the site's proxy has changed since it was last fetched, by whatever change: get it again. Only in replies to a PATCH. */
            readonly proxyFileChanged?: boolean;
        };
        /** @enum {string} */
        SiteAsk: "crawlers" | "everyone";
        /** @description A host whose pages are decided at the edge, as the API shows and accepts it. */
        SiteRequest: {
            /**
             * @description Lower case, without scheme and port; one site for each host.
             * @example news.example
             */
            host: string;
            /** @description Further hosts with the same pages, such as www.publisher.example. */
            aliases?: string[] | null;
            /** @description Heading of the refusal page. Null: the host. */
            name?: string | null;
            /** @description Text of the refusal page, unless the denying rule has a message. */
            refusalMessage?: string | null;
            /**
             * Format: uri
             * @description Link of the refusal page, for example to your subscriptions. Null: no link.
             */
            linkUrl?: string | null;
            /** @description Text of the link, for example Subscribe. Null: Get access. */
            linkLabel?: string | null;
            /** @description Whether decisions are enforced or only recorded. Default: `observe`. */
            mode?: components["schemas"]["Mode"];
            /** @description What happens to pages without a policy. Default: `allow`. */
            unknown?: components["schemas"]["RuleAction"];
            /** @description Whom proxies ask about: `crawlers` (default), and people on pages that are not open to all of them; or `everyone`. For the generated files. */
            ask?: components["schemas"]["SiteAsk"];
            /** @description Your own robots.txt. Requests of crawlers that it disallows are counted as violations. Absent for public keys. */
            robotsTxt?: string | null;
            /** @description The policies of its pages. An item registered by its `source` keeps its own policy. */
            rules?: components["schemas"]["SiteRuleRequest"][] | null;
        };
        /** @description A path pattern and the policy of its pages. */
        SiteRule: {
            /**
             * @description The beginning of a path: `/feed.xml` also matches `/feed.xmlx`, `/feed.xml$` does not. `*` stands for anything (at most 10 times) and a final `$` for the end. The longest wins.
             * @example /premium/*
             */
            pattern: string;
            /** @description Null: its pages are unknown, as if no pattern matched. */
            policyId: string | null;
        };
        /** @description A path pattern and the policy of its pages. */
        SiteRuleRequest: {
            /**
             * @description The beginning of a path: `/feed.xml` also matches `/feed.xmlx`, `/feed.xml$` does not. `*` stands for anything (at most 10 times) and a final `$` for the end. The longest wins.
             * @example /premium/*
             */
            pattern: string;
            /** @description Null: its pages are unknown, as if no pattern matched. */
            policyId?: string | null;
        };
        /** @description A requester's charges, payments and credit movements of one month, in one currency. */
        Statement: {
            /** @description The resource's id. */
            id: string;
            /** @description The kind of the object. */
            object: "statement" | (string & {});
            /** @description Null for entries that name no requester. */
            requesterId: string | null;
            /** @description In a closed statement, the name when it was closed. */
            requesterName: string | null;
            /** @description The month in which the entries were recorded, in the account's `timeZone`, for example `2026-01`. */
            month: string;
            /** @description ISO 4217, or `access` for quotas. */
            currency: string;
            /** @description A closed statement never changes. */
            status: "open" | "closed" | (string & {});
            /**
             * Format: decimal
             * @description The sum of all earlier months.
             */
            opening: string;
            /**
             * Format: decimal
             * @description Prices of licences.
             */
            licenses: string;
            /**
             * Format: decimal
             * @description Recurring fees of licences.
             */
            fees: string;
            /**
             * Format: decimal
             * @description Charged checks.
             */
            usage: string;
            /**
             * Format: decimal
             * @description Refunds, and sales made elsewhere.
             */
            adjustments: string;
            /**
             * Format: decimal
             * @description Charges of the month by kind: `licenses`, `fees`, `usage` and `adjustments`.
             */
            total: string;
            /**
             * Format: decimal
             * @description Gross charges: `total` + `refunds`.
             */
            charges: string;
            /**
             * Format: decimal
             * @description The sum of negative adjustments.
             */
            refunds: string;
            /**
             * Format: decimal
             * @description Payments by the requester, less voids.
             */
            payments: string;
            /**
             * Format: decimal
             * @description Money given back to the requester, less voids.
             */
            payouts: string;
            /**
             * Format: decimal
             * @description What the requester paid for wallet credit, less voids. Does not change `closing`.
             */
            paidForCredit: string;
            /**
             * Format: decimal
             * @description The amount owed: `opening` + `charges` - `refunds` - `payments` + `payouts`.
             */
            closing: string;
            /** @description Null without a wallet in the currency. */
            credits: components["schemas"]["StatementCredits"] | null;
            /** @description Number of charged checks. */
            decisions: number;
            /** @description Number of ledger lines in the statement. */
            lines: number;
            /**
             * Format: date-time
             * @description When the month was closed; null while it is open.
             */
            closedAt: string | null;
        };
        /** @description Changes in the requester's wallets of this currency. */
        StatementCredits: {
            /**
             * Format: decimal
             * @description Wallet balances at the start of the month.
             */
            opening: string;
            /**
             * Format: decimal
             * @description Grants and refills, without what rolled over.
             */
            granted: string;
            /**
             * Format: decimal
             * @description The amount spent by charged checks.
             */
            spent: string;
            /**
             * Format: decimal
             * @description The amount expired or voided.
             */
            expired: string;
            /**
             * Format: decimal
             * @description Refunds that returned to the wallets.
             */
            refunded: string;
            /**
             * Format: decimal
             * @description `opening` + `granted` - `spent` - `expired` + `refunded`.
             */
            closing: string;
        };
        /** @description A licence's price, a fee, an adjustment, or all charges of the month for one licence and item. */
        StatementLine: {
            /** @description The line's ledger entry; of charges the first one. */
            id: string;
            /** @description The kind of the object. */
            object: "statement_line" | (string & {});
            /** @description The kind of it. */
            type: "adjustment" | "fee" | "license" | "usage" | (string & {});
            /**
             * Format: decimal
             * @description An exact decimal, as a number or a string.
             */
            amount: string;
            /** @description ISO 4217, such as `EUR`. */
            currency: string;
            /** @description Number of charged checks; 0 for other types. */
            decisions: number;
            /** @description The licence's id. */
            licenseId: string | null;
            /** @description The tier of the licence. */
            licenseType: string | null;
            /** @description The content item's id. */
            contentId: string | null;
            /** @description Current title, even of a deleted item. Null without an item. */
            contentTitle: string | null;
            /** @description Free text for people. */
            description: string | null;
            /** @description Of a refund or another adjustment. */
            externalId: string | null;
            /**
             * Format: date-time
             * @description When reports count the entry; for charges, the first one.
             */
            occurredAt: string;
            /**
             * Format: date-time
             * @description When the entry was recorded; for charges, the first one.
             */
            created: string;
            /**
             * Format: date-time
             * @description When the last entry was recorded.
             */
            latest: string;
        };
        /** @description A payment, payout or void that a statement counts. */
        StatementPayment: {
            /** @description The resource's id. */
            id: string;
            /** @description The kind of the object. */
            object: "statement_payment" | (string & {});
            /** @description What it is. */
            kind: "payment" | "payout" | (string & {});
            /**
             * Format: decimal
             * @description An exact decimal, as a number or a string.
             */
            amount: string;
            /**
             * Format: decimal
             * @description What this statement counts: negative if it voids a payment of an earlier month, 0 if it has both.
             */
            counted: string;
            /** @description ISO 4217, such as `EUR`. */
            currency: string;
            /**
             * Format: date-time
             * @description When the money arrived or left.
             */
            receivedAt: string;
            /** @description The publisher's own id of the item, unique in the account. */
            externalId: string | null;
            /** @description The credit that it paid for: counted in `paidForCredit`. */
            grantId: string | null;
            /**
             * Format: date-time
             * @description When it was recorded.
             */
            created: string;
            /**
             * Format: date-time
             * @description Null if it was not voided by the end of the month.
             */
            voidedAt: string | null;
        };
        /** @description Numbers of access decisions about the item. */
        Stats: {
            /** @description How many requests were decided. */
            totalRequests: number;
            /** @description How many requests were allowed. */
            allowedRequests: number;
            /** @description How many requests were denied. */
            deniedRequests: number;
        };
        Tags: string[];
        /** @description A balance that sends `wallet.low`: a `value`, or `percent` of the balance after the latest grant. */
        Threshold: {
            /**
             * Format: decimal
             * @description A balance.
             */
            value?: string;
            /** @description A part of the balance after the latest grant. */
            percent?: number;
        };
        /** @description A balance that sends `wallet.low`: a `value`, or `percent` of the balance after the latest grant. */
        ThresholdRequest: {
            /** @description A number or a decimal in a string, with up to 6 places. */
            value?: string | null;
            /** @description A part of the balance after the latest grant. */
            percent?: number | null;
        };
        TraceStep: {
            /** @description The place in the list, counted from 0. */
            index: number;
            /** @description Lower ones are tried first; a missing one last. */
            priority: number | null;
            /** @description What is done: allowed or denied, or in the audit log what was changed. */
            action: "allow" | "deny" | (string & {});
            /** @description Whether all conditions of the rule held. */
            matched: boolean;
            /** @description Whether this is the first rule that matched. */
            decisive: boolean;
            /** @description The condition that did not hold. Of the decisive rule `permissions`, if it allows and does not grant the permission that was asked for. */
            failed: components["schemas"]["FailedCondition"] | null;
        };
        UnconvertedAmount: {
            /** @description ISO 4217, such as `EUR`. */
            currency: string;
            /**
             * Format: decimal
             * @description As booked: neither converted nor rounded.
             */
            amount: string;
            /** @description Number of ledger entries. */
            entries: number;
        };
        /** @enum {string} */
        UnlistedSigners: "pay" | "deny";
        UsageBucket: {
            /** @description Start of the bucket: `YYYY-MM-DD` for days, weeks (Monday) and months (the first); a timestamp for hours. */
            date: string;
            /** @description How many requests. */
            requests: number;
            /** @description Whether access is allowed; in figures, how many requests were. */
            allowed: number;
            /** @description How many requests were denied. */
            denied: number;
        };
        UsageReport: {
            summary: components["schemas"]["UsageSummary"];
            /** @description All buckets of the window, oldest first, including empty ones. */
            timeSeries: components["schemas"]["UsageBucket"][];
            /** @description At most ten, by requests, then by id. */
            topContent: components["schemas"]["UsedContent"][];
            /** @description At most ten, by requests, then by id. */
            topRequesters: components["schemas"]["ActiveRequester"][];
            /** @description Sums to `denied`. Most frequent first. */
            byDenialReason: components["schemas"]["DenialReason"][];
        };
        UsageSummary: {
            /** @description How many requests were decided. */
            totalRequests: number;
            /** @description Whether access is allowed; in figures, how many requests were. */
            allowed: number;
            /** @description How many requests were denied. */
            denied: number;
            /** @description How many requesters asked. */
            uniqueRequesters: number;
            /** @description How many items were asked for. */
            uniqueContent: number;
        };
        UsedContent: {
            /** @description The resource's id. */
            id: string;
            /** @description The title, even of a deleted item. */
            title: string | null;
            /** @description How many requests. */
            requests: number;
        };
        Verdict: {
            /** @description Whether access is allowed; in figures, how many requests were. */
            allowed: boolean;
            /** @description Why access was denied. */
            reason: ("content_archived" | "credits_exhausted" | "host_not_allowed" | "license_expired" | "no_license" | "no_policy" | "permission_not_granted" | "policy_denied" | "quota_exceeded" | "rate_limit_exceeded" | (string & {})) | null;
        };
        /** @description How to verify the host: publish `record` in one of two places. */
        Verification: {
            /** @description A line of the file, or the value of a TXT record. */
            readonly record: string;
            /** @description The address of the file. */
            readonly url: string;
            /** @description The name of the TXT record. */
            readonly dnsName: string;
        };
        /** @description Numbers of visits by answer. */
        VisitCounts: {
            /** @description `other` for a visitor that is not a known crawler. */
            crawlerClass: "ai_training" | "ai_input" | "ai_index" | "search" | "archive" | "preview" | "ads" | "other" | (string & {});
            /** @description How the visitor was identified. */
            identifiedBy: "address" | "api_key" | "license_token" | "nothing" | "reverse_dns" | "signature" | "site" | "user_agent" | (string & {});
            /** @description Whether the identity is proven, not only claimed. */
            verified: boolean;
            /** @description Whether access is allowed; in figures, how many requests were. */
            allowed: number;
            /** @description Allowed only because denials are observed. */
            observed: number;
            /** @description How many requests were denied. */
            denied: number;
            /**
             * Format: date-time
             * @description When the latest was decided.
             */
            lastSeen: string;
        };
        /** @enum {string} */
        VisitorAddresses: "truncated" | "full";
        VisitorOfPage: {
            /** @description The resource's id. */
            id: string | null;
            /** @description A name for people. */
            name: string | null;
            /** @description How many requests. */
            requests: number;
        };
        /** @description Visits at the edge by visitor and by crawler class. */
        VisitorReportShown: {
            /** @description The kind of the object. */
            object: "visitor_report" | (string & {});
            /**
             * Format: date-time
             * @description The first day or moment of the window.
             */
            startDate: string;
            /**
             * Format: date-time
             * @description Inclusive.
             */
            endDate: string;
            /** @description Number of visitors. */
            total: number;
            /** @description All visits, by crawler class and means of identification. */
            byClass: components["schemas"]["VisitCounts"][];
            /** @description The 100 with most visits. */
            visitors: components["schemas"]["VisitorShown"][];
        };
        /** @description Visits of one visitor, with the requester that its decisions count for. */
        VisitorShown: {
            /** @description `other` for a visitor that is not a known crawler. */
            crawlerClass: "ai_training" | "ai_input" | "ai_index" | "search" | "archive" | "preview" | "ads" | "other" | (string & {});
            /** @description How the visitor was identified. */
            identifiedBy: "address" | "api_key" | "license_token" | "nothing" | "reverse_dns" | "signature" | "site" | "user_agent" | (string & {});
            /** @description Whether the identity is proven, not only claimed. */
            verified: boolean;
            /** @description Whether access is allowed; in figures, how many requests were. */
            allowed: number;
            /** @description Allowed only because denials are observed. */
            observed: number;
            /** @description How many requests were denied. */
            denied: number;
            /**
             * Format: date-time
             * @description When the latest was decided.
             */
            lastSeen: string;
            /** @description Null if the requester was deleted. */
            id: string | null;
            /** @description The latest name given. */
            name: string | null;
        };
        /** @description Why a payment is voided. */
        VoidRequest: {
            /** @description Operators and the API show it. */
            reason: string;
        };
        /** @description Prepaid credit of a requester, or of one of its licences. */
        Wallet: {
            /** @description The resource's id. */
            readonly id: string;
            /** @description The kind of the object. */
            readonly object: "wallet" | (string & {});
            /** @description The requester's id, as the publisher calls them. */
            requesterId: string;
            /** @description The requester's current name. */
            readonly requesterName: string | null;
            /** @description The licence's id. */
            licenseId: string | null;
            /** @description ISO 4217, or `access`: how many accesses. */
            unit: string;
            /**
             * Format: decimal
             * @description What is left of all grants.
             */
            readonly balance: string;
            /**
             * Format: decimal
             * @description The lowest permitted balance; 0 or less. Default: 0.
             */
            floor: string;
            /** @description Balances that an event tells of once they are passed. */
            thresholds: components["schemas"]["Threshold"][];
            /** @description What comes again each period; null for nothing. */
            refill: components["schemas"]["Refill"] | null;
            /**
             * Format: date-time
             * @description When the next refill is due; null for none.
             */
            readonly nextRefillAt: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            readonly created: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            readonly updated: string;
        };
        /** @description A change of a wallet's balance. */
        WalletEntry: {
            /** @description The resource's id. */
            id: string;
            /** @description The kind of the object. */
            object: "wallet_entry" | (string & {});
            /** @description The wallet's id. */
            walletId: string;
            /** @description The kind of it. */
            type: "grant" | "spend" | "expire" | "void" | "refund" | "carry" | (string & {});
            /**
             * Format: decimal
             * @description Negative if the balance falls.
             */
            amount: string;
            /** @description The grant's id; null where it concerns none. */
            grantId: string | null;
            /** @description The decision's id. */
            decisionId: string | null;
            /**
             * Format: date-time
             * @description When the entry took effect.
             */
            created: string;
        };
        /** @description Prepaid credit of a requester, or of one of its licences. */
        WalletRequest: {
            /** @description The requester's id, as the publisher calls them. */
            requesterId: string;
            /** @description The licence's id. */
            licenseId?: string | null;
            /** @description ISO 4217, or `access`: how many accesses. */
            unit: components["schemas"]["WalletUnit"];
            /** @description The lowest permitted balance; 0 or less. Default: 0. */
            floor?: string | null;
            /** @description Balances that an event tells of once they are passed. */
            thresholds?: components["schemas"]["ThresholdRequest"][] | null;
            /** @description What comes again each period; null for nothing. */
            refill?: components["schemas"]["RefillRequest"] | null;
        };
        /** @enum {string} */
        WalletUnit: "access" | "AED" | "AFN" | "ALL" | "AMD" | "AOA" | "ARS" | "AUD" | "AWG" | "AZN" | "BAM" | "BBD" | "BDT" | "BHD" | "BIF" | "BMD" | "BND" | "BOB" | "BOV" | "BRL" | "BSD" | "BTN" | "BWP" | "BYN" | "BZD" | "CAD" | "CDF" | "CHE" | "CHF" | "CHW" | "CLF" | "CLP" | "CNY" | "COP" | "COU" | "CRC" | "CUP" | "CVE" | "CZK" | "DJF" | "DKK" | "DOP" | "DZD" | "EGP" | "ERN" | "ETB" | "EUR" | "FJD" | "FKP" | "GBP" | "GEL" | "GHS" | "GIP" | "GMD" | "GNF" | "GTQ" | "GYD" | "HKD" | "HNL" | "HTG" | "HUF" | "IDR" | "ILS" | "INR" | "IQD" | "IRR" | "ISK" | "JMD" | "JOD" | "JPY" | "KES" | "KGS" | "KHR" | "KMF" | "KPW" | "KRW" | "KWD" | "KYD" | "KZT" | "LAK" | "LBP" | "LKR" | "LRD" | "LSL" | "LYD" | "MAD" | "MDL" | "MGA" | "MKD" | "MMK" | "MNT" | "MOP" | "MRU" | "MUR" | "MVR" | "MWK" | "MXN" | "MXV" | "MYR" | "MZN" | "NAD" | "NGN" | "NIO" | "NOK" | "NPR" | "NZD" | "OMR" | "PAB" | "PEN" | "PGK" | "PHP" | "PKR" | "PLN" | "PYG" | "QAR" | "RON" | "RSD" | "RUB" | "RWF" | "SAR" | "SBD" | "SCR" | "SDG" | "SEK" | "SGD" | "SHP" | "SLE" | "SOS" | "SRD" | "SSP" | "STN" | "SVC" | "SYP" | "SZL" | "THB" | "TJS" | "TMT" | "TND" | "TOP" | "TRY" | "TTD" | "TWD" | "TZS" | "UAH" | "UGX" | "USD" | "USN" | "UYI" | "UYU" | "UYW" | "UZS" | "VED" | "VES" | "VND" | "VUV" | "WST" | "XAD" | "XAF" | "XCD" | "XCG" | "XOF" | "XPF" | "YER" | "ZAR" | "ZMW" | "ZWG";
        /** @description One attempt to deliver an event. */
        WebhookAttempt: {
            /** @description The resource's id. */
            id: string;
            /** @description The kind of the object. */
            object: "webhook_delivery" | (string & {});
            /** @description The webhook endpoint. */
            webhookId: string;
            /** @description The event. */
            eventId: string;
            /** @description Its type. */
            eventType: string;
            /** @description Number of this attempt, for this event and endpoint. */
            attempt: number;
            /** @description Whether the status was from 200 to 299. */
            succeeded: boolean;
            /** @description Status of the reply; null if there was none. */
            status: number | null;
            /** @description Why there was no reply. */
            error: string | null;
            /** @description The first 1,024 bytes of the reply's body. */
            response: string;
            /** @description Duration of the attempt, in milliseconds. */
            durationMs: number;
            /**
             * Format: date-time
             * @description Time of the next attempt; null if none is scheduled.
             */
            nextAttempt: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            created: string;
        };
        /** @description A URL that receives the account's events. */
        WebhookEndpoint: {
            /** @description The resource's id. */
            readonly id: string;
            /** @description The kind of the object. */
            readonly object: "webhook_endpoint" | (string & {});
            /**
             * Format: uri
             * @description `https`, port 443, a public address.
             */
            url: string;
            /** @description Event types, groups such as `content.*`, or `*` (default). */
            events: ("*" | "access.*" | "api_key.*" | "content.*" | "grant.*" | "import.*" | "license.*" | "limit.*" | "payment.*" | "policy.*" | "requester.*" | "revenue.*" | "wallet.*" | "webhook_endpoint.*" | "content.created" | "content.archived" | "content.updated" | "content.deleted" | "policy.created" | "policy.updated" | "policy.rolled_back" | "policy.deleted" | "api_key.created" | "api_key.updated" | "api_key.rotated" | "api_key.revoked" | "api_key.expiring" | "requester.updated" | "license.created" | "license.updated" | "license.revoked" | "license.expiring" | "license.expired" | "wallet.low" | "wallet.exhausted" | "wallet.topped_up" | "grant.expiring" | "revenue.adjusted" | "payment.created" | "payment.voided" | "import.finished" | "access.denied" | "access.allowed" | "limit.reached" | "webhook_endpoint.disabled" | (string & {}))[];
            /** @description Free text for people. */
            description: string | null;
            /** @description Filters `access.denied` and `access.allowed` events. Null: all. */
            accessFilter: components["schemas"]["AccessFilter"] | null;
            /** @description Default: `enabled`. */
            status: "enabled" | "disabled" | (string & {});
            /** @description Why the service disabled the endpoint; null if it did not. */
            readonly disabledReason: string | null;
            /** @description The names of `headers`. */
            readonly headerNames: string[];
            /**
             * Format: date-time
             * @description Null while deliveries succeed.
             */
            readonly failingSince: string | null;
            /**
             * Format: date-time
             * @description When it was created.
             */
            readonly created: string;
            /**
             * Format: date-time
             * @description When it was last changed.
             */
            readonly updated: string;
        };
        /** @description A URL that receives the account's events. */
        WebhookEndpointRequest: {
            /**
             * Format: uri
             * @description `https`, port 443, a public address.
             */
            url: string;
            /** @description Event types, groups such as `content.*`, or `*` (default). */
            events?: components["schemas"]["EventPattern"][] | null;
            /** @description Free text for people. */
            description?: string | null;
            /** @description Filters `access.denied` and `access.allowed` events. Null: all. */
            accessFilter?: components["schemas"]["AccessFilterRequest"] | null;
            /** @description Default: `enabled`. */
            status?: components["schemas"]["WebhookStatus"];
            /** @description Sent with each delivery, for example for authentication. Stored encrypted, never shown. */
            headers?: {
                [key: string]: string;
            } | null;
        };
        /** @enum {string} */
        WebhookStatus: "enabled" | "disabled";
        /** @enum {string} */
        Weekday: "mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun";
        Weekdays: components["schemas"]["Weekday"][];
        WeekdaysShown: ("mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun" | (string & {}))[];
        /** @description A window of the plan: the UTC minute or day. */
        Window: {
            /** @description Requests included in the plan. */
            limit: number;
            /** @description Requests with all secret keys of the account in this window, including this one. */
            used: number;
            /** @description How many requests are left in the window. */
            remaining: number;
            /** @description End of the window, in Unix seconds. */
            reset: number;
        };
    };
    responses: {
        /** @description The request is malformed: its body, a query parameter, a header or the cursor. The code: `invalid_request`. */
        Error400: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description No key was sent, or one that is unknown, malformed, revoked or expired. The code: `missing_api_key`, `invalid_api_key`. */
        Error401_missing_api_key_or_invalid_api_key: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "WWW-Authenticate": components["headers"]["WWW-Authenticate"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The key lacks the permission, or the address or the host is not in its lists. The code: `insufficient_permissions`, `ip_not_allowed`. */
        Error403_insufficient_permissions_or_ip_not_allowed: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description There is no such resource. The code: `resource_not_found`. */
        Error404: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The resource exists already, is in use or revoked, or a request with this Idempotency-Key is running. The code: `idempotency_conflict`. */
        Error409_idempotency_conflict: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The body is larger than 1 MiB. The code: `request_too_large`. */
        Error413: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The body is not JSON. The code: `unsupported_media_type`. */
        Error415: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description A field is missing or wrong, or the Idempotency-Key belongs to another request. The code: `invalid_request`, `idempotency_mismatch`. */
        Error422: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The plan's limit is used up. A refused request consumes nothing. The code: `rate_limit_exceeded`. */
        Error429: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description Something went wrong on the service's side. The code: `internal_error`. */
        Error500: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The database does not answer. A failure never allows access. The code: `service_unavailable`. */
        Error503: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description A field is missing or wrong, or the Idempotency-Key belongs to another request. The code: `invalid_request`. */
        Error422_invalid_request: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The client has it already. */
        NotModified: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                ETag: components["headers"]["ETag"];
                [name: string]: unknown;
            };
            content?: never;
        };
        /** @description The resource exists already, is in use or revoked, or a request with this Idempotency-Key is running. The code: `resource_revoked`. */
        Error409_resource_revoked: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The resource is in another state than `If-Match` names. Nothing was written. The code: `precondition_failed`. */
        Error412: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The resource exists already, is in use or revoked, or a request with this Idempotency-Key is running. The code: `resource_already_exists`, `idempotency_conflict`. */
        Error409_resource_already_exists_or_idempotency_conflict: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The resource exists already, is in use or revoked, or a request with this Idempotency-Key is running. The code: `resource_already_exists`. */
        Error409_resource_already_exists: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The resource exists already, is in use or revoked, or a request with this Idempotency-Key is running. The code: `resource_revoked`, `idempotency_conflict`. */
        Error409_resource_revoked_or_idempotency_conflict: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The resource exists already, is in use or revoked, or a request with this Idempotency-Key is running. The code: `resource_in_use`. */
        Error409_resource_in_use: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
        /** @description The resource exists already, is in use or revoked, or a request with this Idempotency-Key is running. The code: `resource_in_use`, `idempotency_conflict`. */
        Error409_resource_in_use_or_idempotency_conflict: {
            headers: {
                "X-RateLimit-Limit": components["headers"]["X-RateLimit-Limit"];
                "X-RateLimit-Remaining": components["headers"]["X-RateLimit-Remaining"];
                "X-RateLimit-Reset": components["headers"]["X-RateLimit-Reset"];
                "RateLimit-Policy": components["headers"]["RateLimit-Policy"];
                RateLimit: components["headers"]["RateLimit"];
                "X-Request-Id": components["headers"]["X-Request-Id"];
                "Retry-After": components["headers"]["Retry-After"];
                [name: string]: unknown;
            };
            content: {
                "application/json": components["schemas"]["Error"];
            };
        };
    };
    parameters: never;
    requestBodies: never;
    headers: {
        /** @description Requests allowed in the window that has the least left, the UTC minute or the UTC day. */
        "X-RateLimit-Limit": number;
        /** @description Requests left in it. */
        "X-RateLimit-Remaining": number;
        /** @description When it begins anew, in Unix seconds. */
        "X-RateLimit-Reset": number;
        /** @description The windows: of each its name, its quota (`q`) and its seconds (`w`). */
        "RateLimit-Policy": string;
        /** @description The window that has the least left: its name, what is left (`r`), and its seconds (`t`). */
        RateLimit: string;
        /** @description Names this request in the log: the one that was sent, or one made for it. */
        "X-Request-Id": string;
        /** @description `true` if this is the kept reply to an earlier request with the same Idempotency-Key. */
        "Idempotent-Replayed": "true";
        /** @description Stands for the resource as this reply shows it, for `If-Match` and `If-None-Match`. */
        ETag: string;
        /** @description Where the new resource is. */
        Location: string;
        /** @description Only if the reply was read from a replica: it has everything recorded until this time. */
        "As-Of": string;
        /** @description Seconds to wait, as in `retryAfter`. */
        "Retry-After": number;
        /** @description How to authenticate. */
        "WWW-Authenticate": string;
    };
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
export type Schemas = components["schemas"];
