import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import { wrongServer } from '../http/answers.ts'
import type { Listing } from '../http/listing.ts'
import type { CallOptions, Transport } from '../http/transport.ts'

export type RuleRequest = api.PostRetentionRulesBody
export type RulePreviewRequest = Omit<api.PostRetentionPreviewBody, 'from'>
export type RulePreview = Omit<api.PostRetentionPreviewAnswer, 'nextSeq'>
export type HoldRequest = api.PostHoldsBody
export type HoldsQuery = { readonly standing?: boolean | undefined; readonly limit?: number | undefined }

/** Rules by which the server erases documents after a time. */
export class Retention {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /**
   * Sets a rule: `POST /v1/retention/rules`. If the rule stores documents for longer, it also applies to existing
   * records. If it stores them for a shorter time, it applies only to later records.
   */
  setRule(rule: RuleRequest, options?: CallOptions): Promise<api.RetentionRule> {
    return this.#http.json(operations.postRetentionRules, { body: rule, options })
  }

  /** Returns the rules, newest first: `GET /v1/retention/rules`. */
  async rules(options?: CallOptions): Promise<readonly api.RetentionRule[]> {
    return (await this.#http.json<api.GetRetentionRulesAnswer>(operations.getRetentionRules, { options }))
      .data
  }

  /**
   * Counts the records that the rule would erase now: `POST /v1/retention/preview`. Reads all pages and adds up their
   * counts.
   */
  async preview(rule: RulePreviewRequest, options?: CallOptions): Promise<RulePreview> {
    const sum = { records: 0, held: 0, oldest: null as string | null, byType: {} as Record<string, number> }
    for (let from: number | null = 0; from !== null; ) {
      const body: api.PostRetentionPreviewBody = { ...rule, from }
      const page: api.PostRetentionPreviewAnswer = await this.#http.json(operations.postRetentionPreview, {
        body,
        options,
      })
      sum.records += page.records
      sum.held += page.held
      if (page.oldest !== null && (sum.oldest === null || page.oldest < sum.oldest)) sum.oldest = page.oldest
      for (const [type, count] of Object.entries(page.byType))
        sum.byType[type] = (sum.byType[type] ?? 0) + count
      if (page.nextSeq !== null && page.nextSeq <= from)
        throw wrongServer(
          'the server answered with a `nextSeq` that is not after the last page, so the pages would never end',
        )
      from = page.nextSeq
    }
    return sum
  }
}

/** Legal holds. While a hold is set, no document of its records is erased. */
export class Holds {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /** Sets a hold: `POST /v1/holds`. */
  set(hold: HoldRequest, options?: CallOptions): Promise<api.Hold> {
    return this.#http.json(operations.postHolds, { body: hold, options })
  }

  /** Lifts a hold: `POST /v1/holds/{seq}/lift`. Other holds on the same records stay in force. */
  lift(seq: number, options?: CallOptions): Promise<api.Hold> {
    return this.#http.json(operations.postHoldsBySeqLift, { params: { seq: String(seq) }, body: {}, options })
  }

  /** Lists holds, newest first: `GET /v1/holds`. */
  list({ standing, limit }: HoldsQuery = {}, options?: CallOptions): Listing<api.Hold> {
    const query = { ...(standing !== undefined && { standing: standing ? 'true' : 'false' }), limit }
    return this.#http.list(operations.getHolds, { query, options })
  }
}
