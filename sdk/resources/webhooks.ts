import { ConflictError, SecretLostError, UnknownOutcomeError } from '../errors.ts'
import type * as api from '../generated/api.ts'
import { operations } from '../generated/operations.ts'
import { wrongServer } from '../http/answers.ts'
import type { Listing } from '../http/listing.ts'
import { Retries } from '../http/retries.ts'
import type { CallOptions, Transport } from '../http/transport.ts'

export type WebhooksQuery = Omit<api.GetWebhooksQuery, 'cursor'>
export type DeliveriesQuery = Omit<api.GetWebhooksByIdDeliveriesQuery, 'cursor'>
/** A webhook with its verification keys `publicKey` and `secret`. The secret is returned only once. */
export type WebhookWithSecret = api.PostWebhooksAnswer
export type DeliveryAttempt = api.Delivery['attemptLog'][number]

/**
 * Webhooks, to whose endpoints the server delivers the ledger's events, and their deliveries. Receivers verify
 * deliveries with `webhooks.verify`.
 *
 * No call has an idempotency key. A call is retried after a lost answer only if a repetition changes nothing. So
 * `delete`, `rotateSecret`, `test`, `redeliver` and `recover` are not retried. Check the state before you repeat them.
 */
export class Webhooks {
  readonly #http: Transport

  constructor(http: Transport) {
    this.#http = http
  }

  /**
   * Makes a webhook, which gets all later events: `POST /v1/webhooks`.
   *
   * Throws ConflictError if the ledger has an identical webhook; `problem.webhook` is its id. Throws SecretLostError if
   * the first answer was lost and the call was repeated. In this case, call `rotateSecret` to make another secret.
   */
  async create(request: api.PostWebhooksBody, options: CallOptions = {}): Promise<WebhookWithSecret> {
    const retries = new Retries(this.#http.retriesOf(options), options.signal)
    const once = { ...options, retriesMax: 0 }
    for (let mayBeThere = false; ; ) {
      try {
        return await this.#http.json(operations.postWebhooks, { body: request, options: once })
      } catch (error) {
        const twin = error instanceof ConflictError ? error.problem.webhook : undefined
        if (mayBeThere && twin !== undefined) throw new SecretLostError(twin)
        mayBeThere ||= error instanceof UnknownOutcomeError && !error.nothingDone
        await retries.before(error)
      }
    }
  }

  /** Lists webhooks in the order of creation, without secrets: `GET /v1/webhooks`. */
  list(query: WebhooksQuery = {}, options?: CallOptions): Listing<api.Webhook> {
    return this.#http.list(operations.getWebhooks, { query, options })
  }

  /**
   * Returns a webhook: `GET /v1/webhooks/{id}`. Its member `standing` shows how much was delivered, and how the
   * endpoint answers. Throws NotFoundError if the webhook does not exist.
   */
  get(id: string, options?: CallOptions): Promise<api.Webhook> {
    return this.#http.json(operations.getWebhooksById, { params: { id }, options })
  }

  /** Changes the given members: `PATCH /v1/webhooks/{id}`. Other members and the secrets do not change. */
  update(id: string, changes: api.PatchWebhooksByIdBody, options?: CallOptions): Promise<api.Webhook> {
    return this.#http.json(operations.patchWebhooksById, { params: { id }, body: changes, options })
  }

  /** Pauses a webhook: `POST /v1/webhooks/{id}/pause`. Events wait until `resume`. */
  pause(id: string, options?: CallOptions): Promise<api.Webhook> {
    return this.#http.json(operations.postWebhooksByIdPause, { params: { id }, body: {}, options })
  }

  /**
   * Resumes a webhook and delivers the missed events: `POST /v1/webhooks/{id}/resume`. With `from: 'now'`, the missed
   * events are not delivered.
   */
  resume(
    id: string,
    request: api.PostWebhooksByIdResumeBody = {},
    options?: CallOptions,
  ): Promise<api.Webhook> {
    return this.#http.json(operations.postWebhooksByIdResume, { params: { id }, body: request, options })
  }

  /** Deletes a webhook with its secrets and deliveries, for good: `DELETE /v1/webhooks/{id}`. */
  delete(id: string, options?: CallOptions): Promise<void> {
    return this.#http.done(operations.deleteWebhooksById, { params: { id }, options })
  }

  /**
   * Makes a new secret: `POST /v1/webhooks/{id}/rotate-secret`. For `overlapSeconds`, by default a day, deliveries are
   * also signed with the earlier secrets. The call is not retried after a lost answer, because each call makes a
   * secret.
   */
  rotateSecret(
    id: string,
    request: api.PostWebhooksByIdRotateSecretBody = {},
    options?: CallOptions,
  ): Promise<WebhookWithSecret> {
    return this.#http.json(operations.postWebhooksByIdRotateSecret, {
      params: { id },
      body: request,
      options,
    })
  }

  /** Sends a test event without content: `POST /v1/webhooks/{id}/test`. Later, `delivery` returns its result. */
  test(id: string, options?: CallOptions): Promise<api.Delivery> {
    return this.#http.json(operations.postWebhooksByIdTest, { params: { id }, body: {}, options })
  }

  /** Lists deliveries, newest first, without their attempts: `GET /v1/webhooks/{id}/deliveries`. */
  deliveries(id: string, query: DeliveriesQuery = {}, options?: CallOptions): Listing<api.DeliverySummary> {
    return this.#http.list(operations.getWebhooksByIdDeliveries, { params: { id }, query, options })
  }

  /**
   * Returns a delivery with its attempts: `GET /v1/webhooks/{id}/deliveries/{event}`. `event` is the event's id
   * (`evt_…`), which the header `webhook-id` contains.
   */
  delivery(id: string, event: string, options?: CallOptions): Promise<api.Delivery> {
    return this.#http.json(operations.getWebhooksByIdDeliveriesByEvent, { params: { id, event }, options })
  }

  /**
   * Delivers an event again now, under the same id: `POST /v1/webhooks/{id}/deliveries/{event}/redeliver`. The delivery
   * may be in any state.
   */
  redeliver(id: string, event: string, options?: CallOptions): Promise<api.Delivery> {
    return this.#http.json(operations.postWebhooksByIdDeliveriesByEventRedeliver, {
      params: { id, event },
      body: {},
      options,
    })
  }

  /**
   * Delivers all dead deliveries again, oldest first: `POST /v1/webhooks/{id}/redeliver-dead`, repeated until none is
   * left. Returns their number. If a request fails, the deliveries of earlier requests are still sent.
   */
  async redeliverDead(
    id: string,
    request: api.PostWebhooksByIdRedeliverDeadBody = {},
    options?: CallOptions,
  ): Promise<number> {
    const call = { params: { id }, body: request, options }
    for (let redelivered = 0; ; ) {
      const page = await this.#http.json<api.PostWebhooksByIdRedeliverDeadAnswer>(
        operations.postWebhooksByIdRedeliverDead,
        call,
      )
      redelivered += page.redelivered
      if (!page.more) return redelivered
      // Without this error, the loop would never end.
      if (!(page.redelivered > 0))
        throw wrongServer('the server answered that it redelivered nothing and that more remains')
    }
  }

  /**
   * Delivers the events of a period that were never delivered: `POST /v1/webhooks/{id}/recover`. With `delivered`, also
   * delivers again the events of the period that were delivered before. The server continues in the background, and
   * `standing.recovery` shows the progress.
   */
  recover(id: string, request: api.PostWebhooksByIdRecoverBody, options?: CallOptions): Promise<api.Webhook> {
    return this.#http.json(operations.postWebhooksByIdRecover, { params: { id }, body: request, options })
  }
}
